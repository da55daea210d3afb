// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"path"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	psaapi "k8s.io/pod-security-admission/api"
	psapolicy "k8s.io/pod-security-admission/policy"

	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/workload"
)

func TestPodsPassTheRestrictedStandard(t *testing.T) {
	evaluator, err := psapolicy.NewEvaluator(psapolicy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	eachTemplate(t, func(t *testing.T, template corev1.PodTemplateSpec) {
		if result := psapolicy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)); !result.Allowed {
			t.Error(result.ForbiddenDetail())
		}
		template.Spec.Containers[0].SecurityContext.Capabilities = nil
		if psapolicy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)).Allowed {
			t.Error("the evaluator lets anything pass")
		}
	})
}

func TestPodsRunAsTheImagesUserOnAReadOnlyRoot(t *testing.T) {
	eachTemplate(t, func(t *testing.T, template corev1.PodTemplateSpec) {
		s := template.Spec.SecurityContext
		for name, id := range map[string]*int64{"user": s.RunAsUser, "group": s.RunAsGroup, "fsGroup": s.FSGroup} {
			if id == nil || *id != 42424 {
				t.Errorf("%s is %v", name, id)
			}
		}
		if ro := template.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem; ro == nil || !*ro {
			t.Error("the root is writable")
		}
		if token := template.Spec.AutomountServiceAccountToken; token == nil || *token {
			t.Error("a service account token is mounted")
		}
		component := template.Labels[render.LabelComponent]
		if large := strings.HasPrefix(component, "volume-") || component == render.ComponentBackup; large != (s.FSGroupChangePolicy != nil) {
			t.Errorf("fsGroupChangePolicy of %s is %v", component, s.FSGroupChangePolicy)
		}
	})
}

func TestVolumesAndMountsBelongTogether(t *testing.T) {
	eachTemplate(t, func(t *testing.T, template corev1.PodTemplateSpec) {
		volumes := map[string]bool{}
		for _, volume := range template.Spec.Volumes {
			if volumes[volume.Name] {
				t.Errorf("two volumes are named %q", volume.Name)
			}
			volumes[volume.Name] = true
			for _, message := range validation.IsDNS1123Label(volume.Name) {
				t.Errorf("volume %q: %s", volume.Name, message)
			}
			source := volume.VolumeSource
			if source.EmptyDir == nil && source.ConfigMap == nil && source.Secret == nil && source.Projected == nil && source.CSI == nil {
				t.Errorf("volume %q has no source", volume.Name)
			}
			if source.Projected != nil {
				files := map[string]bool{}
				for _, projection := range source.Projected.Sources {
					for _, item := range projection.Secret.Items {
						if files[item.Path] || strings.Contains(item.Path, "/") {
							t.Errorf("file %q of %q is there twice or leaves its directory", item.Path, volume.Name)
						}
						files[item.Path] = true
					}
				}
			}
		}
		paths := map[string]bool{}
		for _, mount := range template.Spec.Containers[0].VolumeMounts {
			if paths[mount.MountPath] || path.Clean(mount.MountPath) != mount.MountPath {
				t.Errorf("path %q is mounted twice or not clean", mount.MountPath)
			}
			paths[mount.MountPath] = true
			if !volumes[mount.Name] {
				t.Errorf("mount %q has no volume", mount.Name)
			}
			delete(volumes, mount.Name)
			writable := strings.HasPrefix(mount.MountPath, render.StateDir) || mount.MountPath == render.TempDir
			if mount.ReadOnly == writable {
				t.Errorf("%q is read-only: %v", mount.MountPath, mount.ReadOnly)
			}
		}
		for name := range volumes {
			t.Errorf("volume %q is mounted nowhere", name)
		}
		for _, needed := range []string{render.ConfigDir, render.StateDir, render.TempDir} {
			if !paths[needed] {
				t.Errorf("%q is not mounted", needed)
			}
		}
	})
}

func TestSelectorsAreExactlyThreeLabelsAndNeverSelectAJob(t *testing.T) {
	for sample, build := range samples {
		all := objects(build())
		c, _ := build()
		jobLabels := labels.Set(workload.DBSync(c, render.Facts{}).Spec.Template.Labels)
		selectors := map[string]map[string]string{
			"Service": workload.Service(c).Spec.Selector,
			"PDB":     workload.PDB(c).Spec.Selector.MatchLabels,
		}
		for name, object := range all {
			d, ok := object.(*appsv1.Deployment)
			if !ok {
				continue
			}
			selectors[name] = d.Spec.Selector.MatchLabels
			if !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(d.Spec.Template.Labels)) {
				t.Errorf("%s/%s does not select its own pods", sample, name)
			}
		}
		for name, selector := range selectors {
			if len(selector) != 3 || selector[render.LabelName] != "cinder" || selector[render.LabelInstance] != c.Name ||
				selector[render.LabelComponent] == "" {
				t.Errorf("%s/%s selects by %v", sample, name, selector)
			}
			if labels.SelectorFromSet(selector).Matches(jobLabels) {
				t.Errorf("%s/%s selects the pods of Jobs", sample, name)
			}
		}
	}
}

func TestEveryObjectNamesItsKindAndCarriesTheCommonLabelsAlone(t *testing.T) {
	for sample, build := range samples {
		for name, object := range objects(build()) {
			kind := object.GetObjectKind().GroupVersionKind()
			if kind.Kind == "" || kind.Version == "" || object.GetNamespace() != "openstack" {
				t.Errorf("%s/%s is %v in %q", sample, name, kind, object.GetNamespace())
			}
			got := object.GetLabels()
			if len(got) != 4 || got[render.LabelManagedBy] != "cinder-operator" {
				t.Errorf("%s/%s carries %v", sample, name, got)
			}
		}
	}
}

func TestNamesFitHoweverLongTheirPartsAre(t *testing.T) {
	c, f := full()
	c.Name = strings.Repeat("c", 63)
	f.Backends[0].Name = strings.Repeat("b", 63)
	f.Backends[1].Name = strings.Repeat("b", 62) + "x"
	seen := map[string]bool{}
	for name, object := range objects(c, f) {
		limit := render.MaxName
		if _, ok := object.(*batchv1.CronJob); ok {
			limit = render.MaxCronJobName
		}
		if len(object.GetName()) > limit || len(validation.IsDNS1123Label(object.GetName())) > 0 {
			t.Errorf("%s is named %q", name, object.GetName())
		}
		key := object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName()
		if seen[key] {
			t.Errorf("two objects are named %s", key)
		}
		seen[key] = true
		for key, value := range object.GetLabels() {
			for _, message := range validation.IsValidLabelValue(value) {
				t.Errorf("%s: label %s=%q: %s", name, key, value, message)
			}
		}
	}
	if first, second := workload.DBPurge(c, f).Name, workload.DBPurge(c, f).Name; first != second {
		t.Errorf("a cut name is not stable: %q, %q", first, second)
	}
}
