// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// What the contents of a fleet become is counted elsewhere: the lists of the informers are weighed page by page, and
	// their events one by one. Here counts what is out of proportion: an answer or an event may become freeTimes the
	// bytes that it is sent in, and freeBase.
	freeTimes, freeBase = 4, 4 << 10
	// frameLimit is the size of the largest event that client-go decodes; a larger one it leaves out.
	frameLimit = 16 << 20
)

// protobufMagic begins everything that Kubernetes encodes in protobuf, but for the events of a watch around their objects.
var protobufMagic = []byte("k8s\x00")

// boundDecoded bounds what an answer becomes when it is decoded: a value of two bytes may take a kilobyte in memory. That
// has to be known before a decoder gets to see it, and an answer that is no success is decoded as well. Who names no kind
// of content that is accepted decodes nothing: the probes, and the answers of Services.
func (t *transport) boundDecoded(req *http.Request, resp *http.Response) {
	accepted := req.Header.Get("Accept")
	if accepted == "" {
		return
	}
	body := &decodedBody{ReadCloser: resp.Body, within: t.intake.answerDecoded}
	discovery, _ := req.Context().Value(discoveryKey{}).(*discoveryTransport)
	// Like client-go, which goes on with what there is when that cannot be read.
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch media {
	case runtime.ContentTypeYAML, runtime.ContentTypeCBOR:
		// It was not asked for and is not weighed, so that nobody is to decode it.
		resp.Header.Set("Content-Type", "text/plain")
	}
	switch watches := isWatch(req); {
	case discovery != nil:
		body.within = discovery.decoded
	case watches:
		body.within = t.intake.eventDecoded
	}
	body.json.typed = strings.Contains(accepted, runtime.ContentTypeProtobuf)
	in := bufio.NewReader(resp.Body)
	switch {
	case !isWatch(req) || resp.StatusCode != http.StatusOK:
		body.next = func() (io.Reader, error) { return body.answer(in) }
	case media == runtime.ContentTypeProtobuf:
		body.next = func() (io.Reader, error) { return body.frame(in) }
	default:
		body.next = func() (io.Reader, error) { return body.scanned(in), nil }
	}
	resp.Body = body
}

func ended() (io.Reader, error) { return nil, io.EOF }

// decodedBody hands on what was weighed. It is read by one goroutine at a time.
type decodedBody struct {
	io.ReadCloser
	// next answers the next part of what was weighed, up to its io.EOF, and io.EOF when there is none.
	next func() (io.Reader, error)
	// within says what is wrong with taking in that many bytes more, of memory.
	within func(n int64, now time.Time) error
	json   jsonScale
	now    io.Reader
	failed error
}

// Read is part of io.Reader.
func (b *decodedBody) Read(p []byte) (int, error) {
	for b.failed == nil {
		if b.now == nil {
			if b.now, b.failed = b.next(); b.failed != nil {
				break
			}
		}
		n, err := b.now.Read(p)
		if errors.Is(err, io.EOF) {
			b.now, err = nil, nil
		}
		b.failed = err
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, b.failed
}

func (b *decodedBody) take(n int64) error {
	if n <= 0 {
		return nil
	}
	if err := b.within(n, time.Now()); err != nil {
		return &transportError{err}
	}
	return nil
}

// answer tells the encodings apart by their content, for not everybody who decodes looks at the header. One in protobuf is
// read to its end: which kind it is of, its end may say.
func (b *decodedBody) answer(in *bufio.Reader) (io.Reader, error) {
	b.next = ended
	begin, err := in.Peek(len(protobufMagic))
	switch {
	case !bytes.Equal(begin, protobufMagic):
		return b.scanned(in), nil
	case err != nil:
		return nil, err
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	if err := b.take(weighEncoded(content) - free(len(content))); err != nil {
		return nil, err
	}
	return bytes.NewReader(content), nil
}

// frame reads one event of a watch in protobuf.
func (b *decodedBody) frame(in *bufio.Reader) (io.Reader, error) {
	header := make([]byte, 4)
	if _, err := io.ReadFull(in, header); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header))
	if size > frameLimit {
		return io.MultiReader(bytes.NewReader(header), io.LimitReader(in, size)), nil
	}
	content, err := io.ReadAll(io.LimitReader(in, size))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) < size {
		return nil, io.ErrUnexpectedEOF
	}
	if err := b.take(weighEvent(content) - free(len(content))); err != nil {
		return nil, err
	}
	return io.MultiReader(bytes.NewReader(header), bytes.NewReader(content)), nil
}

// scanned hands on what is weighed as it comes.
func (b *decodedBody) scanned(in io.Reader) io.Reader {
	b.next = ended
	return readerFunc(func(p []byte) (int, error) {
		n, err := in.Read(p)
		if tooMuch := b.take(b.json.weigh(p[:n])); tooMuch != nil {
			return 0, tooMuch
		}
		return n, err
	})
}

type readerFunc func(p []byte) (int, error)

// Read is part of io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// free is what so many bytes may become without being counted.
func free(sent int) int64 { return freeTimes*int64(sent) + freeBase }
