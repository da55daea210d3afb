// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"c5c3.io/cinder-operator/api/v1alpha1"
)

// OldestRelease is the oldest OpenStack release that the operator serves.
const OldestRelease = "2026.1"

// MaxCinderName is how long the name of a Cinder may be, in characters: what is left of a CronJob's 52 for the longest
// suffix.
const MaxCinderName = 43

// CinderFacts is what the rules of a Cinder know beside it.
type CinderFacts struct {
	// MissingPriorityClasses are the priority classes named by the spec that do not exist. Those of PriorityClasses are
	// to be looked up.
	MissingPriorityClasses []string
}

// ValidateCinder judges a Cinder that is created, with old nil, or updated.
func ValidateCinder(obj, old *v1alpha1.Cinder, facts CinderFacts) (warnings []string, errs field.ErrorList) {
	if old != nil && alwaysPasses(obj, old, obj.Spec, old.Spec) {
		return nil, nil
	}
	c := &check{}
	if old == nil {
		c.cinderName(obj.Name)
	}
	c.release(obj, old)
	c.cinderSpec(obj, old)
	c.targetCluster(obj, old)
	c.priorityClasses(obj, old, facts)
	if old != nil {
		c.retention(obj, old)
	}
	return c.warnings, c.errs
}

func (c *check) cinderName(name string) {
	path := field.NewPath("metadata", "name")
	if len(name) > MaxCinderName {
		c.invalid(path, name, "name must be at most %d characters", MaxCinderName)
	}
	// It names a Service.
	if name != "" {
		for _, message := range validation.IsDNS1035Label(name) {
			c.invalid(path, name, "%s", message)
		}
	}
}

func (c *check) release(obj, old *v1alpha1.Cinder) {
	path := field.NewPath("spec", "openStackRelease")
	release := obj.Spec.OpenStackRelease
	c.required(path, release, 0, patternRelease)
	if !patternRelease.MatchString(release) || release >= OldestRelease {
		return
	}
	if old == nil || old.Spec.OpenStackRelease != release {
		c.invalid(path, release, "must be %s or later: the configuration this operator renders is not that of an earlier release", OldestRelease)
		return
	}
	c.warn("%s: %s is older than %s, the oldest release that this operator supports", path, release, OldestRelease)
}

func (c *check) cinderSpec(obj, old *v1alpha1.Cinder) {
	spec, path := &obj.Spec, field.NewPath("spec")
	for _, block := range []struct {
		name  string
		value any
	}{{"image", spec.Image}, {"database", spec.Database}, {"cache", spec.Cache}, {"messaging", spec.Messaging}} {
		if reflect.ValueOf(block.value).IsZero() {
			c.errs = append(c.errs, field.Required(path.Child(block.name), ""))
		}
	}
	c.image(path.Child("image"), spec.Image)
	c.database(path.Child("database"), spec.Database)
	c.cache(path.Child("cache"), spec.Cache)
	c.messaging(path.Child("messaging"), spec.Messaging)
	for _, component := range []v1alpha1.Component{
		v1alpha1.ComponentAPI, v1alpha1.ComponentScheduler, v1alpha1.ComponentVolume, v1alpha1.ComponentBackup,
	} {
		c.deployment(deploymentPath(component), obj.Name, component, spec.DeploymentSpecOf(component))
	}
	c.uwsgi(path.Child("api", "uwsgi"), spec)
	c.job(path.Child("jobs"), spec.Jobs)
	c.keystone(path, spec)
	c.keyManager(path.Child("keyManager"), spec.KeyManager, spec.KeystoneEnabled())
	c.internalTenant(path.Child("internalTenant"), spec.InternalTenant)
	c.purge(path.Child("dbPurge"), spec.DBPurge)
	c.gateway(path.Child("gateway"), spec)
	c.networkPolicy(path.Child("networkPolicy"), spec.NetworkPolicy)
	c.autoscaling(path.Child("autoscaling"), spec)
	if api := spec.DeploymentSpecOf(v1alpha1.ComponentAPI); spec.Autoscaling != nil && api != nil && api.VerticalAutoscaling != nil {
		c.invalid(deploymentPath(v1alpha1.ComponentAPI).Child("verticalAutoscaling"), api.VerticalAutoscaling.UpdateMode,
			"spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment")
	}
	c.logging(path.Child("logging"), spec.Logging)
	c.policy(path.Child("policyOverrides"), spec.PolicyOverrides)
	c.secretStore(path.Child("secretStoreRef"), spec.SecretStoreRef)
	c.extraConfig(path.Child("extraConfig"), obj, old)
}

func deploymentPath(component v1alpha1.Component) *field.Path {
	return field.NewPath("spec", string(component), "deployment")
}

func (c *check) uwsgi(path *field.Path, spec *v1alpha1.CinderSpec) {
	if spec.API == nil || spec.API.UWSGI == nil {
		return
	}
	u := spec.API.UWSGI
	atLeast(c, path.Child("processes"), u.Processes, 1)
	atLeast(c, path.Child("threads"), u.Threads, 1)
	atLeast(c, path.Child("harakiri"), u.Harakiri, 1)
	atLeast(c, path.Child("httpKeepAliveTimeout"), u.HTTPKeepAliveTimeout, 1)
	if u.HTTPKeepAliveTimeout != nil && u.HTTPKeepAlive != nil && !*u.HTTPKeepAlive {
		c.invalid(path, *u.HTTPKeepAliveTimeout, "httpKeepAliveTimeout may only be set when httpKeepAlive is true")
	}
	drain := spec.API.Deployment.EffectiveDrainSeconds()
	if u.Harakiri != nil && int64(*u.Harakiri) >= drain {
		c.invalid(path.Child("harakiri"), *u.Harakiri,
			"harakiri must be strictly less than the drain window of %d seconds (terminationGracePeriodSeconds without preStopSleepSeconds)", drain)
	}
}

func (c *check) keystone(path *field.Path, spec *v1alpha1.CinderSpec) {
	c.endpoint(path.Child("keystoneEndpoint"), spec.KeystoneEndpoint, false)
	c.endpoint(path.Child("keystonePublicEndpoint"), spec.KeystonePublicEndpoint, false)
	if spec.KeystoneEnabled() != (spec.ServiceUser != nil) {
		c.invalid(path.Child("keystoneEndpoint"), spec.KeystoneEndpoint, "keystoneEndpoint and serviceUser must be set together")
	}
	c.serviceUser(path.Child("serviceUser"), spec.ServiceUser)
	c.noControl(path.Child("region"), spec.Region, spec.Region)
	c.endpoint(path.Child("glanceEndpoint"), spec.GlanceEndpoint, false)
}

func (c *check) internalTenant(path *field.Path, t *v1alpha1.InternalTenantSpec) {
	if t == nil {
		return
	}
	c.required(path.Child("projectID"), t.ProjectID, 0, nil)
	c.required(path.Child("userID"), t.UserID, 0, nil)
	c.noControl(path.Child("projectID"), t.ProjectID, t.ProjectID)
	c.noControl(path.Child("userID"), t.UserID, t.UserID)
}

func (c *check) purge(path *field.Path, p *v1alpha1.DBPurgeSpec) {
	if p == nil {
		return
	}
	atLeast(c, path.Child("retentionDays"), p.RetentionDays, 1)
	if p.Schedule == "" {
		return
	}
	at := path.Child("schedule")
	// The time zone of a CronJob is a field of its own; in the schedule the API server refuses it.
	if strings.Contains(p.Schedule, "TZ") {
		c.invalid(at, p.Schedule, "invalid cron expression: a time zone cannot be part of the schedule")
		return
	}
	if _, err := cron.ParseStandard(p.Schedule); err != nil {
		c.invalid(at, p.Schedule, "invalid cron expression: %v", err)
	}
}

func (c *check) retention(obj, old *v1alpha1.Cinder) {
	before, after := old.Spec.EffectiveDBPurge().RetentionDays, obj.Spec.EffectiveDBPurge().RetentionDays
	if after < before {
		c.warn("spec.dbPurge.retentionDays is lowered from %d to %d: the next run removes everything that lies between at once; lower it step by step over an old backlog", before, after)
	}
}

func (c *check) targetCluster(obj, old *v1alpha1.Cinder) {
	path, ref := field.NewPath("spec", "targetClusterRef"), obj.Spec.TargetClusterRef
	name := ""
	if ref != nil {
		name = ref.Name
		c.subdomain(path, ref.Name)
	}
	if old == nil {
		return
	}
	before := old.Spec.TargetClusterRef
	if (ref == nil) != (before == nil) || (ref != nil && ref.Name != before.Name) {
		c.invalid(path, name, "targetClusterRef is immutable")
	}
}

// priorityClass is one place of the spec that names a priority class.
type priorityClass struct {
	path *field.Path
	name string
}

func priorityClassesOf(spec *v1alpha1.CinderSpec) []priorityClass {
	var out []priorityClass
	add := func(path *field.Path, name string) {
		if name != "" {
			out = append(out, priorityClass{path.Child("priorityClassName"), name})
		}
	}
	for _, component := range []v1alpha1.Component{
		v1alpha1.ComponentAPI, v1alpha1.ComponentScheduler, v1alpha1.ComponentVolume, v1alpha1.ComponentBackup,
	} {
		if d := spec.DeploymentSpecOf(component); d != nil {
			add(deploymentPath(component), d.PriorityClassName)
		}
	}
	if spec.Jobs != nil && spec.Jobs.PriorityClassName != nil {
		add(field.NewPath("spec", "jobs"), *spec.Jobs.PriorityClassName)
	}
	return out
}

// changedPriorityClasses are those that have to be looked up. With a target cluster none has: the pods run elsewhere.
func changedPriorityClasses(obj, old *v1alpha1.Cinder) []priorityClass {
	if obj.Spec.TargetClusterRef != nil {
		return nil
	}
	classes := priorityClassesOf(&obj.Spec)
	if old == nil {
		return classes
	}
	before := map[string]string{}
	for _, class := range priorityClassesOf(&old.Spec) {
		before[class.path.String()] = class.name
	}
	return slices.DeleteFunc(classes, func(class priorityClass) bool { return before[class.path.String()] == class.name })
}

// PriorityClasses returns the names of the priority classes whose existence decides about the request, sorted. It is empty
// for most requests.
func PriorityClasses(obj, old *v1alpha1.Cinder) []string {
	if old != nil && alwaysPasses(obj, old, obj.Spec, old.Spec) {
		return nil
	}
	names := map[string]bool{}
	for _, class := range changedPriorityClasses(obj, old) {
		names[class.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (c *check) priorityClasses(obj, old *v1alpha1.Cinder, facts CinderFacts) {
	for _, class := range changedPriorityClasses(obj, old) {
		if slices.Contains(facts.MissingPriorityClasses, class.name) {
			c.invalid(class.path, class.name, "PriorityClass %q does not exist", class.name)
		}
	}
}
