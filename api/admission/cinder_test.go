// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

const beyondOldest = "spec.openStackRelease: must be 2026.1 or later: "

// Each case changes a Cinder that is valid; on an update, the one before is changed by old.
func TestRulesOfACinderBesideTheSchema(t *testing.T) {
	type C = v1alpha1.Cinder
	retention := func(days *int32) func(*C) {
		return func(c *C) { c.Spec.DBPurge = &v1alpha1.DBPurgeSpec{RetentionDays: days} }
	}
	schedule := func(text string) func(*C) {
		return func(c *C) { c.Spec.DBPurge = &v1alpha1.DBPurgeSpec{Schedule: text} }
	}
	release := func(r string) func(*C) { return func(c *C) { c.Spec.OpenStackRelease = r } }
	class := func(name string) func(*C) {
		return func(c *C) {
			c.Spec.Volume = &v1alpha1.VolumeSpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: name}}
		}
	}
	same := func(*C) {}
	for name, tc := range map[string]struct {
		new, old func(*C)
		want     []string
		warn     []string
	}{
		"a plain one is valid":                        {new: same},
		"a plain one is valid on update":              {new: same, old: same},
		"the oldest release is served":                {new: release("2026.1")},
		"a later release without catalog is served":   {new: release("2031.2")},
		"an older release is rejected on create":      {new: release("2025.2"), want: []string{beyondOldest}},
		"an older release is rejected on change":      {new: release("2025.2"), old: release("2025.1"), want: []string{beyondOldest}},
		"an older release that stays is warned about": {new: release("2025.2"), old: release("2025.2"), warn: []string{"2025.2 is older than 2026.1"}},
		"leaving an older release is fine":            {new: release("2026.1"), old: release("2025.2")},
		"a name of 43 characters":                     {new: func(c *C) { c.Name = strings.Repeat("c", 43) }},
		"a name of 44 characters":                     {new: func(c *C) { c.Name = strings.Repeat("c", 44) }, want: []string{"metadata.name: name must be at most 43 characters"}},
		"a long name that was let in before":          {new: func(c *C) { c.Name = strings.Repeat("c", 44) }, old: same},
		"a name that no Service can have":             {new: func(c *C) { c.Name = "1cinder" }, want: []string{"metadata.name: a DNS-1035 label must consist of"}},
		"a name with a dot":                           {new: func(c *C) { c.Name = "a.b" }, want: []string{"metadata.name: a DNS-1035 label must consist of"}},
		"such a name that was let in before":          {new: func(c *C) { c.Name = "1cinder" }, old: same},
		"an endpoint of Keystone without host":        {new: func(c *C) { withKeystone(c); c.Spec.KeystoneEndpoint = "https:///v3" }, want: []string{"spec.keystoneEndpoint: must be a URL with a host"}},
		"an endpoint of Keystone that does not parse": {new: func(c *C) { withKeystone(c); c.Spec.KeystoneEndpoint = "https://a:b" }, want: []string{"spec.keystoneEndpoint: must be a URL with a host"}},
		"an endpoint of Keystone with a line break":   {new: func(c *C) { withKeystone(c); c.Spec.KeystoneEndpoint = "https://a\n[x]" }, want: []string{"spec.keystoneEndpoint: must be a URL with a host"}},
		"an endpoint of Glance without host":          {new: func(c *C) { c.Spec.GlanceEndpoint = "http://:9292" }, want: []string{"spec.glanceEndpoint: must be a URL with a host"}},
		"an endpoint of Glance":                       {new: func(c *C) { c.Spec.GlanceEndpoint = "http://[fd00::1]:9292" }},
		"a schedule":                                  {new: schedule("*/5 2 * * 1-5")},
		"a schedule by descriptor":                    {new: schedule("@daily")},
		"a schedule that is none":                     {new: schedule("every day"), want: []string{"spec.dbPurge.schedule: invalid cron expression"}},
		"a schedule with six fields":                  {new: schedule("0 1 0 * * *"), want: []string{"spec.dbPurge.schedule: invalid cron expression"}},
		"a schedule out of range":                     {new: schedule("61 0 * * *"), want: []string{"spec.dbPurge.schedule: invalid cron expression"}},
		"a schedule with a time zone":                 {new: schedule("TZ=UTC 1 0 * * *"), want: []string{"spec.dbPurge.schedule: invalid cron expression"}},
		"a schedule of a time zone alone":             {new: schedule("TZ=0"), want: []string{"spec.dbPurge.schedule: invalid cron expression"}},
		"a retention that is lowered":                 {new: retention(ptr.To[int32](7)), old: retention(ptr.To[int32](8)), warn: []string{"retentionDays is lowered from 8 to 7"}},
		"a retention that falls back to the default":  {new: same, old: retention(ptr.To[int32](90)), warn: []string{"retentionDays is lowered from 90 to 30"}},
		"a retention that is raised":                  {new: retention(ptr.To[int32](40)), old: same},
		"a low retention from the start":              {new: retention(ptr.To[int32](1))},
		"a priority class that exists":                {new: class("high")},
		"a priority class that does not":              {new: class("gone"), want: []string{"spec.volume.deployment.priorityClassName: PriorityClass \"gone\" does not exist"}},
		"a priority class of Jobs that does not":      {new: func(c *C) { c.Spec.Jobs = &v1alpha1.JobSpec{PriorityClassName: ptr.To("gone")} }, want: []string{"spec.jobs.priorityClassName: PriorityClass \"gone\" does not exist"}},
		"a priority class that went later":            {new: class("gone"), old: class("gone")},
		"a priority class that is changed to none":    {new: class("gone"), old: class("high"), want: []string{"spec.volume.deployment.priorityClassName: PriorityClass \"gone\" does not exist"}},
		"a priority class of another cluster":         {new: func(c *C) { class("gone")(c); c.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge-1"} }},
		"a logger name with a line break": {new: func(c *C) {
			c.Spec.Logging = &v1alpha1.LoggingSpec{PerLoggerLevels: map[string]v1alpha1.LogLevel{"a\nb": "INFO"}}
		}, want: []string{"spec.logging.perLoggerLevels: must not contain a newline or carriage return"}},
		"a region with a line break": {new: func(c *C) { c.Spec.Region = "a\rb" }, want: []string{"spec.region: must not contain a newline or carriage return"}},
		"a project name with a tab":  {new: func(c *C) { withKeystone(c); c.Spec.ServiceUser.ProjectName = "a\tb" }, want: []string{"spec.serviceUser.projectName: must not contain a control character"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := newCinder()
			tc.new(obj)
			var old *v1alpha1.Cinder
			if tc.old != nil {
				old = newCinder()
				tc.old(old)
			}
			warnings, errs := ValidateCinder(obj, old, CinderFacts{MissingPriorityClasses: []string{"gone"}})
			wantErrors(t, errs, tc.want)
			wantWarnings(t, warnings, tc.warn)
		})
	}
}

func TestPriorityClassesAreAskedForOnceAndOnlyWhenTheyDecide(t *testing.T) {
	obj := newCinder()
	obj.Spec.API = &v1alpha1.APISpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: "b"}}
	obj.Spec.Scheduler = &v1alpha1.SchedulerSpec{Deployment: &v1alpha1.DeploymentSpec{PriorityClassName: "b"}}
	obj.Spec.Jobs = &v1alpha1.JobSpec{PriorityClassName: ptr.To("a")}
	if got := PriorityClasses(obj, nil); strings.Join(got, " ") != "a b" {
		t.Errorf("on create %q are asked for", got)
	}
	if got := PriorityClasses(obj, obj.DeepCopy()); len(got) != 0 {
		t.Errorf("on an update of something else %q are asked for", got)
	}
	obj.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge-1"}
	if got := PriorityClasses(obj, nil); len(got) != 0 {
		t.Errorf("of another cluster %q are asked for", got)
	}
}
