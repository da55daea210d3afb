// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// nothings is how many empty objects an answer holds: each is two bytes or three,
// and about a kilobyte when it is decoded.
const nothings = 5_000_000

// listsOf answers lists of two kinds with what content gives.
func listsOf(content func(list, apiVersion string) (media string, parts []string)) attack {
	return func(w http.ResponseWriter, r *http.Request, by *attacker) bool {
		list, apiVersion := "SecretList", "v1"
		switch {
		case strings.HasSuffix(r.URL.Path, "/deployments"):
			list, apiVersion = "DeploymentList", "apps/v1"
		case !strings.HasSuffix(r.URL.Path, "/secrets"):
			return false
		}
		if isWatch(r) { // so that the list is asked for
			http.Error(w, "no", http.StatusBadRequest)
			return true
		}
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			list, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
		}
		media, parts := content(list, apiVersion)
		w.Header().Set("Content-Type", media)
		send(w, by, parts...)
		return true
	}
}

func send(w io.Writer, by *attacker, parts ...string) {
	for _, part := range parts {
		n, err := io.WriteString(w, part)
		by.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

var (
	emptyInJSON     = sync.OnceValue(func() string { return strings.Repeat(",{}", nothings) })
	emptyInProtobuf = sync.OnceValue(func() string { return strings.Repeat("\x12\x00", nothings) })
)

func nothingInJSON(list, apiVersion string) (string, []string) {
	return "application/json", []string{`{"kind":"` + list + `","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"1"},"items":[{}`, emptyInJSON(), "]}"}
}

const protobuf = "application/vnd.kubernetes.protobuf"

func nothingInProtobuf(list, apiVersion string) (string, []string) {
	return protobuf, []string{object(list, apiVersion, emptyInProtobuf())}
}

// eventsOfNothing answers watches with one event of a Deployment that has a
// container of two bytes, and another one.
func eventsOfNothing(w http.ResponseWriter, r *http.Request, by *attacker) bool {
	if !isWatch(r) || !strings.HasSuffix(r.URL.Path, "/deployments") {
		return false
	}
	w.Header().Set("Content-Type", protobuf+";stream=watch")
	event := field(1, "ADDED") + field(2, field(1, object("Deployment", "apps/v1", field(2, field(3, field(2, emptyInProtobuf()))))))
	send(w, by, string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))), event)
	return true
}

// smallEventsOfMuch answers watches with Deployments of many empty containers: a few
// KiB each, and more than a megabyte when it is decoded.
func smallEventsOfMuch(w http.ResponseWriter, r *http.Request, by *attacker) bool {
	if !isWatch(r) || !strings.HasSuffix(r.URL.Path, "/deployments") {
		return false
	}
	w.Header().Set("Content-Type", protobuf+";stream=watch")
	containers := field(2, field(3, field(2, strings.Repeat("\x12\x00", 1_200))))
	return pour(w, by, func(i int) string {
		metadata := field(1, field(1, "n"+strconv.Itoa(i))+field(3, "default"))
		event := field(1, "ADDED") + field(2, field(1, object("Deployment", "apps/v1", metadata+containers)))
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))) + event
	})
}

// object is an object in protobuf, with its kind around it.
func object(kind, apiVersion, content string) string {
	return "k8s\x00" + field(1, field(1, apiVersion)+field(2, kind)) + field(2, content)
}

// field is a field of a message in protobuf that has content.
func field(number byte, content string) string {
	return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content)))) + content
}
