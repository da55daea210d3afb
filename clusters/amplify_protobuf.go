// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"iter"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

const (
	// protobufUnknown is what each field counts for, in bytes, where it is not known what it is decoded into.
	protobufUnknown = 3 << 10
	// protobufDepth is how deep messages are looked into. No known kind is as deep.
	protobufDepth = 64
	// appended is how many times its size an element of a list takes: the list is copied as it grows.
	appended = 2
	// mapEntry is what an entry of a map takes beside its key and value.
	mapEntry = 64
)

// shape is what a message becomes in memory: that of a Go type which Kubernetes encodes in protobuf.
type shape struct {
	size   int64
	fields []protobufField // by their numbers
}

type protobufField struct {
	// each is what every occurrence takes, and perByte what every byte of its content does.
	each, perByte int64
	// of is the shape of the content, nil where that is no message.
	of *shape
}

// anything is the shape of what is not known: each field of it may be a large struct.
var anything = &shape{size: protobufUnknown}

func (s *shape) field(number int32) protobufField {
	switch {
	case s == anything:
		return protobufField{each: protobufUnknown, of: anything}
	case int(number) < len(s.fields):
		return s.fields[number]
	}
	return protobufField{} // decoders leave it out
}

// weighEncoded answers what an object becomes in memory, in bytes, that comes with the magic number and its kind.
func weighEncoded(content []byte) int64 {
	content, ok := bytes.CutPrefix(content, protobufMagic)
	if !ok {
		return 0 // no decoder takes it
	}
	// It is a runtime.Unknown. Of fields that come again the last one counts, or part of each.
	var apiVersion, kind string
	var raw []byte
	for number, content := range protobufFields(content) {
		switch number {
		case 1:
			for number, content := range protobufFields(content) {
				switch number {
				case 1:
					apiVersion = string(content)
				case 2:
					kind = string(content)
				}
			}
		case 2:
			raw = content
		}
	}
	of := protobufKinds()[schema.FromAPIVersionAndKind(apiVersion, kind)]
	if of == nil {
		of = anything
	}
	return of.size + of.weigh(raw, 0)
}

// weighEvent answers what an event of a watch becomes, with its object.
func weighEvent(content []byte) int64 {
	n := int64(0)
	for number, content := range protobufFields(content) {
		if number != 2 {
			continue
		}
		for number, raw := range protobufFields(content) { // a runtime.RawExtension
			if number == 1 {
				n += weighEncoded(raw)
			}
		}
	}
	return n
}

// weigh answers what the fields of a message take, as far as it can be read: so far decoders come too.
func (s *shape) weigh(message []byte, depth int) int64 {
	n := int64(0)
	for number, content := range protobufFields(message) {
		f := s.field(number)
		n += f.each + f.perByte*int64(len(content))
		switch {
		case f.of == nil || len(content) == 0:
		case depth == protobufDepth:
			n += protobufUnknown * int64(len(content)) / 2
		default:
			n += f.of.weigh(content, depth+1)
		}
	}
	return n
}

// protobufFields answers the numbers and contents of the fields of a message, up to what is none. The content of a number
// is nil. It is as lenient as the decoders that Kubernetes generates, and more so than the protobuf library: what these
// take is not to be passed over.
func protobufFields(message []byte) iter.Seq2[int32, []byte] {
	return func(yield func(int32, []byte) bool) {
		for groups := 0; len(message) > 0; {
			tag, n := protobufVarint(message)
			message = message[n:]
			number := int32(tag >> 3)
			if n == 0 || groups == 0 && number <= 0 {
				return
			}
			var content []byte
			switch tag & 7 {
			case 0:
				_, n = protobufVarint(message)
				if n == 0 {
					return
				}
			case 1:
				n = 8
			case 2:
				length, header := protobufVarint(message)
				message = message[header:]
				if header == 0 || length > uint64(len(message)) {
					return
				}
				n = int(length)
				content = message[:n:n]
			case 3: // what a group holds is left out by decoders
				groups++
				n = 0
			case 4:
				groups--
				n = 0
			case 5:
				n = 4
			default:
				return
			}
			if n > len(message) || groups < 0 {
				return
			}
			message = message[n:]
			if groups == 0 && !yield(number, content) {
				return
			}
		}
	}
}

// protobufVarint answers a number and how many bytes it takes, none if it has no end.
func protobufVarint(b []byte) (uint64, int) {
	n := uint64(0)
	for i := 0; i < len(b) && i < 10; i++ {
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}

// protobufKinds are the shapes of all kinds that a client has a decoder for.
var protobufKinds = sync.OnceValue(func() map[schema.GroupVersionKind]*shape {
	metadata := runtime.NewScheme()
	known := maps.Clone(clientgoscheme.Scheme.AllKnownTypes())
	if metav1.AddMetaToScheme(metadata) == nil { // else they are not known, and weigh more
		maps.Copy(known, metadata.AllKnownTypes())
	}
	shapes := map[reflect.Type]*shape{}
	kinds := map[schema.GroupVersionKind]*shape{}
	for gvk, t := range known {
		kinds[gvk] = shapeOf(t, shapes)
	}
	return kinds
})

// shapeOf answers the shape of a type, nil if it is encoded as no message.
func shapeOf(t reflect.Type, shapes map[reflect.Type]*shape) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := shapes[t]; ok {
		return s
	}
	s := &shape{size: int64(t.Size())}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		// A list that has a message to itself.
		shapes[t] = s
		s.set(1, protobufFieldOf(t, "rep", shapes))
	case t.Kind() == reflect.Struct:
		shapes[t] = s // it may hold itself
		for i := range t.NumField() {
			// Such as "bytes,1,opt,name=metadata".
			tag := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
			if len(tag) < 3 {
				continue
			}
			if number, err := strconv.ParseInt(tag[1], 10, 16); err == nil {
				s.set(int(number), protobufFieldOf(t.Field(i).Type, tag[2], shapes))
			}
		}
	default:
		return nil
	}
	return s
}

func (s *shape) set(number int, f protobufField) {
	if more := number + 1 - len(s.fields); more > 0 {
		s.fields = append(s.fields, make([]protobufField, more)...)
	}
	s.fields[number] = f
}

func protobufFieldOf(t reflect.Type, label string, shapes map[reflect.Type]*shape) protobufField {
	switch {
	case t.Kind() == reflect.Pointer:
		return protobufField{each: int64(t.Elem().Size()), of: shapeOf(t.Elem(), shapes)}
	case t.Kind() == reflect.Map:
		entry := &shape{}
		entry.set(2, protobufField{of: shapeOf(t.Elem(), shapes)})
		return protobufField{each: appended*int64(t.Key().Size()+t.Elem().Size()) + mapEntry, of: entry}
	case t.Kind() == reflect.Slice && label == "rep":
		size := appended * int64(t.Elem().Size())
		f := protobufField{each: size, of: shapeOf(t.Elem(), shapes)}
		switch t.Elem().Kind() {
		case reflect.Pointer:
			f.each += int64(t.Elem().Elem().Size())
		case reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
			f.perByte = size // they may come packed
		}
		return f
	}
	return protobufField{of: shapeOf(t, shapes)}
}
