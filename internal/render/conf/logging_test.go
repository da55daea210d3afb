// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf_test

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

func logging(t *testing.T, spec v1alpha1.LoggingSpec) (conf, ini string) {
	t.Helper()
	c := rendertest.Cinder()
	c.Spec.Logging = &spec
	data := shared(t, c, "")
	return data["cinder.conf"], data["logging.ini"]
}

func TestTextLoggingAtInfoLeavesTheDefaultsAlone(t *testing.T) {
	text, file := logging(t, v1alpha1.LoggingSpec{Format: "text", Level: "INFO"})
	if strings.Contains(text, "log_") || file != "" {
		t.Errorf("got:\n%s%s", text, file)
	}
}

func TestALoggersLevelKeepsTheLibrariesQuiet(t *testing.T) {
	text, _ := logging(t, v1alpha1.LoggingSpec{PerLoggerLevels: map[string]v1alpha1.LogLevel{"cinder": "DEBUG", "amqp": "ERROR"}})
	line := ""
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "default_log_levels = ") {
			line = l
		}
	}
	for _, pair := range []string{"= amqp=ERROR,", ",cinder=DEBUG,", ",sqlalchemy=WARNING,"} {
		if !strings.Contains(line, pair) {
			t.Errorf("no %q in %q", pair, line)
		}
	}
	if strings.Contains(line, "root=") {
		t.Errorf("the root level is set: %q", line)
	}
}

func TestARootLevelThatOsloDoesNotKnowIsSetByName(t *testing.T) {
	text, _ := logging(t, v1alpha1.LoggingSpec{Level: "ERROR"})
	if !strings.Contains(text, "default_log_levels = root=ERROR\n") {
		t.Errorf("got:\n%s", text)
	}
}

func TestJSONLoggingPutsLevelsInItsFile(t *testing.T) {
	on := true
	text, file := logging(t, v1alpha1.LoggingSpec{
		Format: "json", Debug: &on, PerLoggerLevels: map[string]v1alpha1.LogLevel{"cinder.volume": "ERROR"},
	})
	if !strings.Contains(text, "log_config_append = /etc/cinder/cinder.conf.d/logging.ini\n") || strings.Contains(text, "default_log_levels") {
		t.Errorf("got:\n%s", text)
	}
	sections, err := rendertest.ReadINI(file)
	if err != nil {
		t.Fatal(err)
	}
	if sections["logger_root"]["level"] != "DEBUG" || sections["logger_cinder.volume"]["level"] != "ERROR" ||
		sections["logger_sqlalchemy"]["level"] != "WARNING" {
		t.Errorf("levels of:\n%s", file)
	}
	for _, key := range strings.Split(sections["loggers"]["keys"], ",") {
		if sections["logger_"+key] == nil {
			t.Errorf("logger %q has no section", key)
		}
	}
}

func TestLoggerNamesThatPythonMisreadsAreRefused(t *testing.T) {
	for _, name := range []string{"", "a,b", "a=b", "a%b", "a b", "a\nb"} {
		c := rendertest.Cinder()
		c.Spec.Logging = &v1alpha1.LoggingSpec{PerLoggerLevels: map[string]v1alpha1.LogLevel{name: "INFO"}}
		if text, err := conf.Logging(c); err == nil {
			t.Errorf("%q is taken: %s", name, text)
		}
	}
}
