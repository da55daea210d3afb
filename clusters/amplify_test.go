// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
)

// honest is a list of Deployments as an API server answers with.
func honest(n int) *appsv1.DeploymentList {
	list := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	written := metav1.Now()
	fields := map[string]any{}
	for i := range 40 {
		fields[fmt.Sprintf("f:field-%d", i)] = map[string]any{".": map[string]any{}, "f:value": map[string]any{}}
	}
	raw, _ := json.Marshal(map[string]any{"f:metadata": fields})
	labels := map[string]string{}
	for i := range 8 {
		labels[fmt.Sprintf("app.kubernetes.io/label-%d", i)] = "cinder-api"
	}
	container := corev1.Container{
		Image: "registry.example.org/openstack/cinder:2026.1", Command: []string{"/bin/sh", "-c", "exec cinder-api"},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}},
		Ports:     []corev1.ContainerPort{{Name: "api", ContainerPort: 8776}, {Name: "metrics", ContainerPort: 9090}},
	}
	pod := corev1.PodSpec{ServiceAccountName: "cinder", Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}}
	for i := range 10 {
		name := fmt.Sprintf("volume-%d", i)
		container.Env = append(container.Env, corev1.EnvVar{Name: strings.ToUpper(name), Value: "value"})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/etc/" + name, ReadOnly: true})
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
	}
	for i := range 3 {
		container.Name = fmt.Sprintf("container-%d", i)
		pod.Containers = append(pod.Containers, container)
	}
	for i := range n {
		list.Items = append(list.Items, appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "openstack", Name: fmt.Sprintf("cinder-%d", i), UID: types.UID(fmt.Sprint(i)), Labels: labels, CreationTimestamp: written,
				ManagedFields: []metav1.ManagedFieldsEntry{
					{Manager: "cinder-operator", Operation: metav1.ManagedFieldsOperationApply, Time: &written, FieldsV1: metav1.NewFieldsV1(string(raw))},
					{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Time: &written, FieldsV1: metav1.NewFieldsV1(string(raw))},
				},
			},
			Spec:   appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
			Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable}, {Type: appsv1.DeploymentProgressing}}},
		})
	}
	return list
}

// inEncoding encodes an object as an API server does.
func inEncoding(t testing.TB, media string, obj runtime.Object) []byte {
	t.Helper()
	codecs := serializer.NewCodecFactory(testScheme)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no %s", media)
	}
	content, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, appsv1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// becoming answers what an answer is weighed as beyond what is free.
func becoming(content []byte, typed bool) int64 {
	if bytes.HasPrefix(content, protobufMagic) {
		return max(0, weighEncoded(content)-free(len(content)))
	}
	scale := jsonScale{typed: typed}
	return scale.weigh(content)
}

// own is a list of custom resources as an API server answers with.
func own(n int) string {
	const fields = `{"f:metadata":{"f:finalizers":{".":{},"v:\"k8s.mariadb.com/finalizer\"":{}},"f:labels":{"f:a":{},"f:b":{},"f:c":{},"f:d":{},"f:e":{}}},` +
		`"f:spec":{"f:a":{},"f:b":{},"f:c":{},"f:d":{"f:name":{},"f:key":{}},"f:e":{},"f:f":{},"f:g":{}}}`
	item := func(i int) string {
		return fmt.Sprintf(`{"apiVersion":"k8s.mariadb.com/v1alpha1","kind":"User","metadata":{"name":"u%d","namespace":"openstack","uid":"%d","resourceVersion":"1",`+
			`"generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["k8s.mariadb.com/finalizer"],"labels":{"a":"b","b":"c","c":"d","d":"e","e":"f"},`+
			`"managedFields":[{"manager":"cinder-operator","operation":"Apply","fieldsV1":%s},{"manager":"mariadb-operator","operation":"Update","fieldsV1":%s}]},`+
			`"spec":{"a":"a","b":"b","c":20,"d":{"name":"x","key":"y"},"e":true,"f":"f","g":"g"},"status":{"conditions":[{"type":"Ready","status":"True","reason":"Created"}]}}`,
			i, i, fields, fields)
	}
	return `{"kind":"UserList","apiVersion":"k8s.mariadb.com/v1alpha1","metadata":{"resourceVersion":"1"},"items":[` + many(n, item) + `]}`
}

func TestHonestListsBecomeFarLessThanIsTaken(t *testing.T) {
	limit := Limits{}.withDefaults().Decoded
	for _, tt := range []struct {
		name    string
		content []byte
		typed   bool
	}{
		{"500 Deployments in protobuf", inEncoding(t, runtime.ContentTypeProtobuf, honest(500)), true},
		{"500 Deployments in JSON", inEncoding(t, runtime.ContentTypeJSON, honest(500)), false},
		{"2000 custom resources in JSON", []byte(own(2000)), false},
	} {
		n := becoming(tt.content, tt.typed)
		t.Logf("%s: %d KiB become %d KiB", tt.name, len(tt.content)>>10, n>>10)
		if n > limit/2 || n > 0 && bytes.HasPrefix(tt.content, protobufMagic) {
			t.Errorf("%s are weighed as %d MiB", tt.name, n>>20)
		}
	}
	if n := becoming(inEncoding(t, runtime.ContentTypeProtobuf, honest(1)), true); n > 0 {
		t.Errorf("one Deployment counts as %d", n)
	}
}

// field is a field of a message that has content.
func field(number uint64, content ...string) string {
	all := strings.Join(content, "")
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|2), uint64(len(all)))) + all
}

// ofKind is an object in protobuf.
func ofKind(apiVersion, kind, raw string) string {
	return string(protobufMagic) + field(1, field(1, apiVersion), field(2, kind)) + field(2, raw)
}

// emptyContainers is a list of one Deployment with so many containers.
func emptyContainers(n int, container string) string {
	return ofKind("apps/v1", "DeploymentList", field(2, field(2, field(3, field(2, strings.Repeat(container, n))))))
}

// hostile are answers that become far more than they are, each of about so many elements.
func hostile(n int) map[string]string {
	list := func(items string) string {
		return `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + items + `]}`
	}
	nothing := func(what string) string { return what + strings.Repeat(","+what, n-1) }
	containers := func(what string) string {
		return list(`{"spec":{"template":{"spec":{"containers":[` + nothing(what) + `]}}}}`)
	}
	ofOwn := func(content string) string {
		return `{"kind":"Own","apiVersion":"example.org/v1","spec":` + content + `}`
	}
	numbered := &strings.Builder{}
	entries := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(numbered, `,"%d":0`, i)
		entries.WriteString(field(2, field(1, fmt.Sprint(i))))
	}
	// Decoders cut off the number, so that this is 2 too.
	farTag := string(binary.AppendUvarint(nil, (1<<32|2)<<3|2)) + "\x00"
	return map[string]string{
		"items, in protobuf":                    ofKind("apps/v1", "DeploymentList", strings.Repeat(field(2), n)),
		"items with far tags, in protobuf":      ofKind("apps/v1", "DeploymentList", strings.Repeat(farTag, n)),
		"items after a group, in protobuf":      ofKind("apps/v1", "DeploymentList", "\x7b\x00\x00\x7c"+strings.Repeat(field(2), n)),
		"containers, in protobuf":               emptyContainers(n, field(2)),
		"entries of a map, in protobuf":         ofKind("v1", "ConfigMap", entries.String()),
		"numbers, in protobuf":                  ofKind("v1", "Pod", field(2, field(14, field(4, strings.Repeat("\x01", 64*n))))),
		"metadata, in protobuf":                 ofKind("meta.k8s.io/v1", "PartialObjectMetadataList", strings.Repeat(field(2), n)),
		"owners, in protobuf":                   ofKind("v1", "Secret", field(1, strings.Repeat(field(13), n))),
		"an unknown kind, in protobuf":          ofKind("example.org/v1", "Unknown", strings.Repeat(field(7), n)),
		"no kind, in protobuf":                  ofKind("", "", strings.Repeat(field(2), n)),
		"items, in JSON":                        list(nothing("{}")),
		"items that are numbers, in JSON":       list(nothing("0")),
		"items that are null, in JSON":          list(nothing("null")),
		"containers, in JSON":                   containers("{}"),
		"containers that are numbers, in JSON":  containers("0"),
		"numbers of an own kind, in JSON":       ofOwn("[" + nothing("1000") + "]"),
		"objects of an own kind, in JSON":       ofOwn("[" + nothing(`{"a":1}`) + "]"),
		"nested objects of an own kind, JSON":   ofOwn(strings.Repeat(`{"a":`, 9000) + "0" + strings.Repeat("}", 9000)),
		"lists of an own kind, in JSON":         ofOwn("[" + nothing("[0]") + "]"),
		"one large object of an own kind, JSON": ofOwn(`{"x":0` + numbered.String() + "}"),
	}
}

// decodedAs decodes as a client does, errors and all.
func decodedAs(content string) runtime.Object {
	codecs := serializer.NewCodecFactory(testScheme)
	media := runtime.ContentTypeJSON
	if strings.HasPrefix(content, string(protobufMagic)) {
		media = runtime.ContentTypeProtobuf
	}
	var into runtime.Object
	switch {
	case strings.Contains(content[:min(len(content), 100)], "example.org"):
		into = &unstructured.Unstructured{}
		if media == runtime.ContentTypeJSON {
			_ = into.(*unstructured.Unstructured).UnmarshalJSON([]byte(content))
			return into
		}
	case strings.Contains(content[:min(len(content), 100)], "PartialObjectMetadataList"):
		into = &metav1.PartialObjectMetadataList{}
	default:
		into = &appsv1.DeploymentList{}
	}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	out, _, _ := info.Serializer.Decode([]byte(content), nil, into)
	if out == nil {
		out = into // what was made of it until it failed
	}
	return out
}

func TestWhatAnAnswerBecomesIsWeighedAsNoLess(t *testing.T) {
	inUse := func() int64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, content := range hostile(5_000) {
		t.Run(name, func(t *testing.T) {
			weighed := becoming([]byte(content), !strings.Contains(name, "own kind")) + free(len(content))
			before := inUse()
			obj := decodedAs(content)
			became := inUse() - before
			kept := weigh(obj)
			goruntime.KeepAlive(obj)
			t.Logf("%d KiB become %d KiB, weighed as %d KiB before and as %d KiB when kept", len(content)>>10, became>>10, weighed>>10, kept>>10)
			if weighed < became {
				t.Errorf("%d bytes are weighed as %d, and become %d", len(content), weighed, became)
			}
			if strings.Contains(name, "nknown") {
				return
			}
			// What a list or a map keeps free for more is not seen.
			if 2*kept < became || kept > 2*became+64<<10 {
				t.Errorf("it is weighed as %d when it is kept, and takes %d", kept, became)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffIsWeighedUpToThere(t *testing.T) {
	for _, rest := range []string{"\x07", "\x12", "\x12\x7f", "\x00", "\x14", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		whole, broken := emptyContainers(10_000, field(2)), emptyContainers(1, strings.Repeat(field(2), 10_000)+rest)
		if n, want := weighEncoded([]byte(broken)), weighEncoded([]byte(whole)); n < want {
			t.Errorf("followed by %q they are weighed as %d, want %d", rest, n, want)
		}
	}
}

func TestWhereAnAnswerIsCutDoesNotMatter(t *testing.T) {
	part := `{"a\"b{[":[{},[0,{"x":"\\"}],"],}\\\""],"c":{"d":[1,2],"e":null}, "f" : "\u0022," }`
	content := []byte(strings.Repeat(part, 3))
	for _, typed := range []bool{false, true} {
		whole := jsonScale{typed: typed}
		whole.cost = freeBase // so that little is free of the first
		want := whole.weigh(content)
		if want == 0 {
			t.Fatal("it weighs nothing")
		}
		for cut := range content {
			s := jsonScale{typed: typed}
			s.cost = freeBase
			got := s.weigh(content[:cut])
			for i := cut; i < len(content); i++ {
				got += s.weigh(content[i : i+1])
			}
			if got != want || len(s.open) != 0 || s.text || s.escaped || s.objects != 0 {
				t.Fatalf("cut at %d it is weighed as %d, want %d; left is %+v", cut, got, want, s)
			}
		}
	}
}

func TestDeepAnswersAreWeighedInBoundedTime(t *testing.T) {
	deep := ""
	for len(deep) < 1<<20 {
		deep = field(2, deep, "\x08\x01")
		if len(deep) > 100 {
			deep = field(2, strings.Repeat(deep, 2))
		}
	}
	levels := []byte{}
	for range 5_000 {
		levels = append(binary.AppendUvarint([]byte{0x12}, uint64(len(levels))), levels...)
	}
	for name, content := range map[string]string{
		"unknown": ofKind("x/v1", "X", deep), "known": ofKind("apps/v1", "DeploymentList", deep), "levels": ofKind("x/v1", "X", string(levels)),
		"braces": strings.Repeat("{", 1<<22), "brackets": strings.Repeat("[", 1<<22), "words": `{"` + strings.Repeat(`\"`, 1<<22),
	} {
		began := time.Now()
		becoming([]byte(content), false)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

func FuzzWhatIsSentIsWeighed(f *testing.F) {
	for _, content := range hostile(3) {
		f.Add([]byte(content))
	}
	f.Add(inEncoding(f, runtime.ContentTypeProtobuf, honest(1)))
	f.Add(inEncoding(f, runtime.ContentTypeJSON, honest(1)))
	f.Fuzz(func(t *testing.T, content []byte) {
		most := int64(len(content)+1) * protobufUnknown * 2
		scale := jsonScale{cost: freeBase}
		for _, n := range []int64{weighEncoded(content), weighEvent(content), anything.weigh(content, 0), scale.weigh(content)} {
			if n < 0 || n > most+protobufUnknown {
				t.Errorf("%d bytes are weighed as %d", len(content), n)
			}
		}
	})
}

func BenchmarkWeighing(b *testing.B) {
	list := honest(500)
	for _, media := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		content := inEncoding(b, media, list)
		b.Run(media, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				becoming(content, false)
			}
		})
	}
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			weigh(&list.Items[0])
		}
	})
}
