// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"testing"
)

// verbs say with which requests a rule can be broken.
type verbs []string

var (
	both       = verbs{"create", "update"}
	createOnly = verbs{"create"}
	updateOnly = verbs{"update"}
)

// shared are the rules that both kinds of satellites have.
var shared = map[string]verbs{
	"mount-options-control": both, // mount options without control characters
	"monitor-port":          both, // between 1 and 65535
	"network-canonical":     both, // an IPv4 CIDR whose host bits are zero
	"option-name":           both, // extraOptions: ^[A-Za-z0-9_]+$
	"option-value":          both, // extraOptions: no line break
	"option-value-control":  both, // extraOptions: no control character
	"option-denied":         both, // extraOptions: none of the operator's own, by type
	"all-at-once":           both, // every violation in one answer
}

// admissionRules are the rules of the webhooks, by kind. Their words are those of the table of fields in the reference.
var admissionRules = map[string]map[string]verbs{
	"cinder": {
		"oldest-release":         both,       // 2026.1 or later
		"name-length":            createOnly, // 43 characters
		"name-label":             createOnly, // a DNS-1035 label
		"endpoint-host":          both,       // Keystone, Glance, Barbican
		"endpoint-parses":        both,
		"purge-schedule":         both, // the grammar of cron, descriptors included
		"singleton-spread":       both, // none for volume and backup
		"spread-own-pods":        both, // selectors match the Deployment's own pods, the component included
		"harakiri":               both, // inside the drain window
		"requests-within-limits": both, // each component, and Jobs
		"resources-not-negative": both,
		"priority-class":         both, // exists
		"node-selector":          both, // the grammar of labels
		"toleration":             both,
		"vpa-bounds":             both, // minAllowed does not exceed maxAllowed
		"autoscaling-request":    both, // above zero
		"autoscaling-reach":      both, // within the limit
		"stabilization-window":   both, // 0 to 3600 seconds
		"label-selector":         both, // the peers of the network policy
		"one-line":               both, // whatever becomes a line of a configuration file
		"no-control-character":   both,
		"extra-config-catalog":   both, // sections and options of the release
		"extra-config-one-line":  both, // section, key and value
		"extra-config-names":     both, // what reads back as another section or option
		"extra-config-owned":     both, // the operator's own
		"all-at-once":            both,
	},
	"cinderbackend": with(shared, map[string]verbs{
		"name-section":            createOnly, // neither default nor a section of cinder.conf
		"name-label":              createOnly, // a DNS-1123 label
		"name-length":             createOnly, // 35 characters
		"name-length-with-cinder": createOnly, // 47 characters
	}),
	"cinderbackupbackend": with(shared, map[string]verbs{
		"union":            both, // both halves, with either block
		"file-size":        both,
		"compression":      both,
		"nfs-path":         both,
		"mount-options":    both,
		"client-prefix":    both,
		"monitors":         both,
		"networks":         both,
		"key-secret":       both,
		"cinder-immutable": updateOnly,
		"type-immutable":   updateOnly,
		"one-per-cinder":   createOnly, // on update, too: the webhooks' own suite stores the second one past them
	}),
}

func with(a, b map[string]verbs) map[string]verbs {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func TestEveryRuleOfTheWebhooksHasARejectedCreationAndARejectedUpdate(t *testing.T) {
	have := map[string]map[string][]string{}
	for _, c := range loadCorpora(t) {
		for _, r := range c.rejections {
			for _, rule := range r.rules {
				if admissionRules[c.kind()][rule] == nil {
					t.Errorf("%s/%s breaks a rule %q that is none of a %s", c.folder, r.sent.file, rule, c.kind())
				}
				if have[c.kind()] == nil {
					have[c.kind()] = map[string][]string{}
				}
				have[c.kind()][rule] = append(have[c.kind()][rule], r.verb)
			}
		}
	}
	for kind, rules := range admissionRules {
		for rule, wanted := range rules {
			for _, verb := range wanted {
				if !slices.Contains(have[kind][rule], verb) {
					t.Errorf("no %s of a %s is rejected for %s", verb, kind, rule)
				}
			}
		}
	}
}
