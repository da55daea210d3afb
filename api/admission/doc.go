// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission says what a Cinder, a CinderBackend or a CinderBackupBackend may look like, and fills in what was left
// out. It holds pure functions: object in, field errors and warnings out. What a rule has to know beside the object is
// handed in as facts. Package webhooks lets an API server ask them.
//
// Every rule of the schemas is repeated, because an operator may run beside the CustomResourceDefinitions of an older
// chart, and in the schema's own words. The rules that no schema can express come on top.
//
// Rules that judge the object alone run on every create and update. Rules that know something else, such as a catalog or
// another object, run on create and on a change of what they judge, so that an object never becomes unchangeable behind
// its owner's back; that a Cinder has one backup target is the exception, because it is a rule about the namespace. An
// object that is being deleted, and an update that only takes finalizers away, are never refused.
package admission
