// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package projection says what it means to own a child object on some cluster.
//
// A Projector knows the identity of the hub. A Scope is one owner on one
// clusters.Target: it applies, reads, deletes and sweeps the children of that
// owner there, and refuses to touch what belongs to somebody else. The package
// knows neither what the owner is nor what the children are for.
//
// # Whose is it
//
// Four labels name the owner of a child: kind, name, namespace and hub. A child
// is ours when all of them match and it lies in the owner's namespace. Where the
// labels cannot tell, because somebody took them off, the server-side-apply
// field manager does. A child on the hub carries a controller owner reference
// as well, which outranks the hub label. What the first three labels name and
// no hub claims was written by an operator without the hub label: it is adopted,
// and the fields of its previous managers are dropped.
//
// # Writing nothing
//
// Apply remembers, per object, what it last applied and which version of the
// object answered. As long as the cache shows that version and the intent is
// the same, it neither writes nor reads anything live. Any drift on a field of
// the intent changes the version and so leads to a new apply.
package projection
