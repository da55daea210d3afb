// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"c5c3.io/cinder-operator/internal/render/ini"
)

// DefaultBrokerPort is the port that oslo.messaging takes where a URL names
// none, with TLS as well.
const DefaultBrokerPort int32 = 5672

// ErrSlash says that a broker's user name or password cannot be used:
// oslo.messaging decodes a `%2F` and hands the bare `/` on to a second URL,
// which then ends there.
var ErrSlash = errors.New(`a "/" in a RabbitMQ user name or password cannot be used, not even as %2F: oslo.messaging takes it for the end of the host`)

// Broker describes a RabbitMQ endpoint by its parts.
type Broker struct {
	Host string
	// Port is 5672 when zero.
	Port               int32
	Username, Password string
	// VirtualHost is `/` when empty.
	VirtualHost string
}

// URL writes `rabbit://user:password@host:port/vhost`. Every part must be
// there: a partial URL is never written. The default virtual host `/` is the
// bare slash behind the port. The error is ErrSlash or says what is missing.
func (b Broker) URL() (string, error) {
	switch {
	case b.Username == "":
		return "", fmt.Errorf("the broker's user name is empty")
	case b.Password == "":
		return "", fmt.Errorf("the broker's password is empty")
	case strings.Contains(b.Username, "/"), strings.Contains(b.Password, "/"):
		return "", ErrSlash
	}
	host, err := hostText(b.Host)
	if err != nil {
		return "", err
	}
	port := b.Port
	if port == 0 {
		port = DefaultBrokerPort
	}
	vhost := b.VirtualHost
	if vhost == "/" {
		vhost = ""
	}
	return "rabbit://" + Encode(b.Username) + ":" + Encode(b.Password) + "@" + host + ":" +
		strconv.Itoa(int(port)) + "/" + Encode(vhost), nil
}

// Transport is what a bus URL says, without its credentials.
type Transport struct {
	// Hosts are `host:port`, lower case, IPv6 in brackets, in the URL's order.
	Hosts []string
	// Port is the first host's port; Ports are all of them, sorted and unique.
	Port  int32
	Ports []int32
	// VirtualHost is decoded; `/` where the URL names none.
	VirtualHost string
}

// ParseTransport reads a bus URL by the rules of oslo.messaging, and refuses
// what oslo.messaging would read as something else than it says: the raw
// characters that end the host part early, hosts with and without
// credentials beside each other, and ErrSlash.
func ParseTransport(raw string) (Transport, error) {
	if raw == "" {
		return Transport{}, fmt.Errorf("the transport URL is empty")
	}
	if ini.HasControl(raw) || strings.ContainsRune(raw, ' ') {
		return Transport{}, fmt.Errorf("the transport URL carries white space or a control character")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Transport{}, fmt.Errorf("the transport URL has no scheme; it must start with rabbit://")
	}
	if scheme != "rabbit" {
		return Transport{}, fmt.Errorf("the transport URL must start with rabbit://")
	}
	netloc, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		netloc, tail = rest[:i], rest[i:]
	}
	if strings.Contains(tail, "@") {
		if strings.HasPrefix(tail, "/") {
			return Transport{}, ErrSlash
		}
		return Transport{}, fmt.Errorf(`a "?" or "#" in a user name or password must be percent-encoded`)
	}
	if strings.Contains(tail, "#") {
		return Transport{}, fmt.Errorf("the transport URL carries a fragment")
	}
	path, _, _ := strings.Cut(tail, "?")
	vhost := decode(strings.TrimPrefix(path, "/"))
	t := Transport{VirtualHost: vhost}
	if vhost == "" {
		t.VirtualHost = "/"
	}
	if err := t.addHosts(netloc); err != nil {
		return Transport{}, err
	}
	return t, nil
}

func (t *Transport) addHosts(netloc string) error {
	with := 0
	for i, part := range strings.Split(netloc, ",") {
		host, port, credentials, err := parseHost(part)
		if err != nil {
			return fmt.Errorf("host %d of the transport URL: %w", i+1, err)
		}
		if credentials {
			with++
		}
		if i == 0 {
			t.Port = port
		}
		t.Hosts = append(t.Hosts, strings.ToLower(host)+":"+strconv.Itoa(int(port)))
		if !slices.Contains(t.Ports, port) {
			t.Ports = append(t.Ports, port)
		}
	}
	if with != 0 && with != len(t.Hosts) {
		return fmt.Errorf(`all hosts of the transport URL must carry credentials, or none of them (a "," in a password must be percent-encoded)`)
	}
	slices.Sort(t.Ports)
	return nil
}

// parseHost reads `[user:password@]host[:port]`. The first `@` ends the
// credentials and the first `:` the user name, as oslo.messaging has it.
func parseHost(part string) (host string, port int32, credentials bool, err error) {
	if before, after, ok := strings.Cut(part, "@"); ok {
		part, credentials = after, true
		user, password, hasPassword := strings.Cut(before, ":")
		if !hasPassword || user == "" || password == "" {
			return "", 0, false, fmt.Errorf("the credentials are not user:password")
		}
		for _, s := range []string{user, password} {
			if strings.Contains(decode(s), "/") {
				return "", 0, false, ErrSlash
			}
			if strings.ContainsAny(s, "[]") {
				return "", 0, false, fmt.Errorf("a bracket in a user name or password must be percent-encoded")
			}
		}
	}
	if strings.Contains(part, "@") {
		return "", 0, false, fmt.Errorf(`an "@" in a user name or password must be percent-encoded`)
	}
	name, portText := part, ""
	if strings.HasPrefix(part, "[") {
		end := strings.IndexByte(part, ']')
		if end < 0 {
			return "", 0, false, fmt.Errorf("the IPv6 address has no closing bracket")
		}
		name = part[:end+1]
		behind := part[end+1:]
		if behind != "" && !strings.HasPrefix(behind, ":") {
			return "", 0, false, fmt.Errorf("a port must follow the IPv6 address")
		}
		portText = strings.TrimPrefix(behind, ":")
	} else if before, after, ok := strings.Cut(part, ":"); ok {
		name, portText = before, after
	}
	if host, err = hostText(name); err != nil {
		// The text is not quoted: a stray character may have put a piece of a
		// password where the host belongs.
		return "", 0, false, fmt.Errorf("the host is empty or not a host name")
	}
	port = DefaultBrokerPort
	if portText != "" {
		n, err := strconv.ParseUint(portText, 10, 16)
		if err != nil || n == 0 {
			return "", 0, false, fmt.Errorf("the port is not a number from 1 to 65535")
		}
		port = int32(n)
	}
	return host, port, credentials, nil
}
