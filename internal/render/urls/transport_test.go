// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"c5c3.io/cinder-operator/internal/render/urls"
)

func TestBrokerURL(t *testing.T) {
	for name, c := range map[string]struct {
		broker urls.Broker
		want   string
	}{
		"the default virtual host": {urls.Broker{Host: "mq", Username: "u", Password: "p"}, "rabbit://u:p@mq:5672/"},
		"the same by name":         {urls.Broker{Host: "mq", Username: "u", Password: "p", VirtualHost: "/"}, "rabbit://u:p@mq:5672/"},
		"a virtual host and port": {urls.Broker{Host: "mq", Port: 5671, Username: "u", Password: "p", VirtualHost: "a/b"},
			"rabbit://u:p@mq:5671/a%2Fb"},
		"IPv6": {urls.Broker{Host: "fd00::1", Username: "u", Password: "p"}, "rabbit://u:p@[fd00::1]:5672/"},
		"awkward credentials": {urls.Broker{Host: "mq", Username: "u,v", Password: "$debug@:?#%+"},
			"rabbit://u%2Cv:%24debug%40%3A%3F%23%25%2B@mq:5672/"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.broker.URL()
			if err != nil || got != c.want {
				t.Fatalf("got %q (%v), want %q", got, err, c.want)
			}
			if _, err := urls.ParseTransport(got); err != nil {
				t.Errorf("our own URL is refused: %v", err)
			}
		})
	}
}

func TestAPartialOrUnusableBrokerURLIsNeverWritten(t *testing.T) {
	for name, b := range map[string]urls.Broker{
		"no user":               {Host: "mq", Password: "p"},
		"no password":           {Host: "mq", Username: "u"},
		"no host":               {Username: "u", Password: "p"},
		"a bracket for a host":  {Host: "]", Username: "u", Password: "p"},
		"brackets for a host":   {Host: "[]", Username: "u", Password: "p"},
		"half an IPv6 address":  {Host: "[fd00::1", Username: "u", Password: "p"},
		"a slash in the user":   {Host: "mq", Username: "u/v", Password: "p"},
		"a slash in the secret": {Host: "mq", Username: "u", Password: "hunter2/x"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := b.URL()
			if err == nil || got != "" {
				t.Fatalf("got %q", got)
			}
			if strings.Contains(name, "slash") && !errors.Is(err, urls.ErrSlash) {
				t.Errorf("the message does not speak of the slash: %v", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
}

func TestATransportURLIsReadAsTheBusReadsIt(t *testing.T) {
	for raw, want := range map[string]urls.Transport{
		"rabbit://u:p@mq.example.org:5673/cinder": {Hosts: []string{"mq.example.org:5673"}, Port: 5673, Ports: []int32{5673}, VirtualHost: "cinder"},
		"rabbit://u:p@MQ":                         {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "/"},
		"rabbit://u:p@mq/":                        {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "/"},
		"rabbit://u:p@mq//":                       {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "/"},
		"rabbit://u:p@mq/%2F":                     {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "/"},
		"rabbit://u:p%zz@mq/v?ssl=1":              {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "v"},
		"rabbit://u:a$b@mq/v":                     {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "v"},
		"rabbit://mq/v":                           {Hosts: []string{"mq:5672"}, Port: 5672, Ports: []int32{5672}, VirtualHost: "v"},
		"rabbit://u:p@[fd00::1]:5671/v": {
			Hosts: []string{"[fd00::1]:5671"}, Port: 5671, Ports: []int32{5671}, VirtualHost: "v"},
		"rabbit://u:p@mq-1:5673,u:p@mq-0:5672,u:p@mq-2:5673/v": {
			Hosts: []string{"mq-1:5673", "mq-0:5672", "mq-2:5673"}, Port: 5673, Ports: []int32{5672, 5673}, VirtualHost: "v"},
	} {
		t.Run(raw, func(t *testing.T) {
			got, err := urls.ParseTransport(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestATransportURLThatTheBusMisreadsIsRefused(t *testing.T) {
	for raw, says := range map[string]string{
		"":                               "empty",
		"mq:5672":                        "no scheme",
		"amqp://u:hunter2@mq/":           "rabbit://",
		"rabbit://u:hunter2@mq/\n":       "control character",
		"rabbit://u:hunter2@ mq/":        "white space",
		"rabbit://u:hunt/er2@mq/v":       `a "/"`,
		"rabbit://u:hunt%2Fer2@mq/v":     `a "/"`,
		"rabbit://u%2fv:hunter2@mq/v":    `a "/"`,
		"rabbit://u:hunt?er2@mq/v":       "percent-encoded",
		"rabbit://u:hunt#er2@mq/v":       "percent-encoded",
		"rabbit://u:hunt@er2@mq/v":       "percent-encoded",
		"rabbit://u:hunt[er2@mq/v":       "percent-encoded",
		"rabbit://u:hunt,er2@mq/v":       "host 1",
		"rabbit://u:hunter2@mq,mq2/v":    "credentials",
		"rabbit://u@mq/v":                "user:password",
		"rabbit://u:@mq/v":               "user:password",
		"rabbit://u:hunter2@/v":          "host",
		"rabbit://u:hunter2@mq:amqp/v":   "port",
		"rabbit://u:hunter2@mq:70000/v":  "port",
		"rabbit://u:hunter2@mq:0/v":      "port",
		"rabbit://u:hunter2@[fd00::1/v":  "bracket",
		"rabbit://u:hunter2@[fd00::1]x/": "port",
		"rabbit://u:hunter2@mq/v#x":      "fragment",
	} {
		t.Run(raw, func(t *testing.T) {
			_, err := urls.ParseTransport(raw)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %q", err, says)
			}
			for _, piece := range []string{"hunter2", "hunt", "er2"} {
				if strings.Contains(err.Error(), piece) {
					t.Errorf("the error holds a piece of the password: %v", err)
				}
			}
		})
	}
}
