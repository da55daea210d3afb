// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission holds the suites of what keeps a wrong object out: the rejection corpora of the folders beside it, run
// by chainsaw against a hub with the webhooks switched on and switched off, the webhooks' certificates, and what the
// webhooks must never be asked about.
//
// A corpus is a folder of manifests that must be rejected, invalid-KIND-schema for what the schema holds and invalid-KIND-cr
// for what the webhooks hold. Comments in front of a manifest say what it is for:
//
//	# rule: NAME             the rule of the webhooks that it breaks; the table is in rules_test.go
//	# expect: FIELD: PART    a violation that it is rejected for; every violation has its line
//	# expect as an update: FIELD: PART   the same, of an update alone
//	# only: create           what only a creation can break; every other manifest is sent as an update, too
//
// NN-NAME.before.yaml exists before the creation. NN-NAME.update.yaml is the rejected update of a NN-NAME.yaml that is valid.
// The others are sent as updates of base.yaml, or of base-nfs.yaml or base-rbd.yaml by their type.
//
// chainsaw-test.yaml of a corpus is generated: UPDATE_GOLDEN=1 writes into it what the API server answers, after the answers
// were compared with the expectations. To run the suites against a cluster of your own, in the folder above:
//
//	chainsaw test --selector webhooks=unneeded     with or without the webhooks
//	chainsaw test --selector webhooks=needed       with the webhooks
//	chainsaw test --test-dir backup-rbd            with an operator that runs; its manifests say what it needs
package admission
