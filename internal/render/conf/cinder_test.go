// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/conf"
	"c5c3.io/cinder-operator/internal/render/rendertest"
)

// joined writes a set of files as one text, in name order.
func joined(data map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(data)) {
		b.WriteString("### " + key + "\n" + data[key])
	}
	return b.String()
}

func shared(t *testing.T, c *v1alpha1.Cinder, policy string) map[string]string {
	t.Helper()
	data, _, err := conf.Shared(c, policy)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSharedConfiguration(t *testing.T) {
	const policy = "volume:create: role:nobody\nvolume:get: role:reader\n"
	for name, c := range map[string]func() *v1alpha1.Cinder{
		"noauth":   rendertest.Cinder,
		"keystone": rendertest.KeystoneCinder,
		"full":     rendertest.FullCinder,
	} {
		t.Run(name, func(t *testing.T) {
			data := shared(t, c(), policy)
			for key, text := range data {
				rendertest.Golden(t, name+"/"+key, text)
			}
			rendertest.Stable(t, func() string { return joined(shared(t, c(), policy)) })
		})
	}
}

func TestConditionalFilesAndKeysAppearWithTheirFieldAlone(t *testing.T) {
	plain := shared(t, rendertest.Cinder(), "")
	if got := slices.Sorted(maps.Keys(plain)); !reflect.DeepEqual(got, []string{"cinder.conf", "scheduler.conf"}) {
		t.Errorf("a plain Cinder renders %v", got)
	}
	full := shared(t, rendertest.FullCinder(), "")
	if got := slices.Sorted(maps.Keys(full)); !reflect.DeepEqual(got, []string{"cinder.conf", "logging.ini", "policy.yaml", "scheduler.conf"}) {
		t.Errorf("a full Cinder renders %v", got)
	}
	for _, absent := range []string{
		"keystone_authtoken", "[service_user]", "[nova]", "glance_api_servers", "internal_tenant", "default_log_levels",
		"log_config_append", "region_name", "key_manager", "barbican", "ssl", "policy_file", "enabled_backends",
	} {
		if strings.Contains(plain["cinder.conf"], absent) {
			t.Errorf("a plain cinder.conf speaks of %s", absent)
		}
	}
}

func TestCinderConfIsTheSameForEveryRelease(t *testing.T) {
	first := rendertest.FullCinder()
	second := rendertest.FullCinder()
	second.Spec.OpenStackRelease, second.Spec.Image.Tag = "2026.2", "2026.2"
	if a, b := joined(shared(t, first, "")), joined(shared(t, second, "")); a != b {
		t.Error("the release changes the configuration")
	}
}

func TestNoCredentialStandsInTheConfiguration(t *testing.T) {
	text := joined(shared(t, rendertest.FullCinder(), ""))
	for _, word := range []string{"password =", "transport_url", "dropped"} {
		if strings.Contains(text, word) {
			t.Errorf("the configuration holds %q", word)
		}
	}
}

func TestPublicKeystoneEndpointFallsBackToTheOther(t *testing.T) {
	c := rendertest.KeystoneCinder()
	c.Spec.KeystonePublicEndpoint = ""
	if text := shared(t, c, "")["cinder.conf"]; !strings.Contains(text, "www_authenticate_uri = http://keystone.openstack.svc:5000/v3\n") {
		t.Errorf("got:\n%s", text)
	}
}

func TestTypedValuesAreLiteralAndExtraConfigIsNot(t *testing.T) {
	c := rendertest.KeystoneCinder()
	c.Spec.Region = " $state_path "
	c.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"my_block": "$state_path/x"}}
	text := shared(t, c, "")["cinder.conf"]
	for _, line := range []string{`region_name = " \$state_path "`, "my_block = $state_path/x"} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in:\n%s", line, text)
		}
	}
}

func TestOverriddenOwnedKeysAreReportedAndHonoured(t *testing.T) {
	c := rendertest.FullCinder()
	text, overridden, err := conf.Cinder(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"[DEFAULT] debug", "[DEFAULT] transport_url (not honoured)", "[keystone_authtoken] password (not honoured)", "[keystone_authtoken] region_name",
	}; !reflect.DeepEqual(overridden, want) {
		t.Errorf("reported %v, want %v", overridden, want)
	}
	sections, err := rendertest.ReadINI(text)
	if err != nil {
		t.Fatal(err)
	}
	if sections["DEFAULT"]["debug"] != "true" || sections["keystone_authtoken"]["region_name"] != "Other" {
		t.Errorf("the overlay does not win:\n%s", text)
	}
	if sections["nova"]["region_name"] != "RegionOne" {
		t.Errorf("the overlay reaches another section:\n%s", text)
	}
}

func TestRejectedExtraConfigIsLeftOutAndReported(t *testing.T) {
	c := rendertest.KeystoneCinder()
	c.Spec.ExtraConfig = map[string]map[string]string{
		"DEFAULT":            {"auth_strategy": "evil", "api_paste_config": "evil", "transport_url": "evil"},
		"DATABASE":           {"connection": "evil"},
		"keystone_authtoken": {"password": "evil"},
		"service_user":       {"password": "evil"},
		"nova":               {"password": "evil"},
		"cinder_sys_admin":   {"helper_command": "evil", "capabilities": "evil"},
		"Privsep_Osbrick":    {"helper_command": "evil", "capabilities": "evil"},
	}
	text, overridden, err := conf.Cinder(c)
	if err != nil || strings.Contains(text, "evil") {
		t.Errorf("%v:\n%s", err, text)
	}
	want := []string{
		"[DEFAULT] api_paste_config (not honoured)", "[DEFAULT] auth_strategy (not honoured)", "[DEFAULT] transport_url (not honoured)",
		"[cinder_sys_admin] capabilities (not honoured)", "[cinder_sys_admin] helper_command (not honoured)",
		"[database] connection (not honoured)", "[keystone_authtoken] password (not honoured)", "[nova] password (not honoured)",
		"[privsep_osbrick] capabilities (not honoured)", "[privsep_osbrick] helper_command (not honoured)", "[service_user] password (not honoured)",
	}
	if !slices.Equal(overridden, want) {
		t.Errorf("reported %q, want %q", overridden, want)
	}
	plain, _, err := conf.Cinder(rendertest.KeystoneCinder())
	if err != nil || plain != text {
		t.Errorf("%v; the file differs from one without extraConfig:\n%s", err, text)
	}
}

func TestControlCharactersInTheSpecAreRefusedByPlace(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CinderSpec)
		says   string
	}{
		"region":       {func(s *v1alpha1.CinderSpec) { s.Region = "r\n[x]" }, "region_name"},
		"cache server": {func(s *v1alpha1.CinderSpec) { s.Cache = v1alpha1.CacheSpec{Servers: []string{"a\tb"}} }, "memcached_servers"},
		"endpoint":     {func(s *v1alpha1.CinderSpec) { s.GlanceEndpoint = "http://g\rx = y" }, "glance_api_servers"},
		"user":         {func(s *v1alpha1.CinderSpec) { s.ServiceUser.Username = "u\x00" }, "username"},
		"overlay value": {func(s *v1alpha1.CinderSpec) {
			s.ExtraConfig = map[string]map[string]string{"DEFAULT": {"my_ip": "1\n2"}}
		}, "my_ip"},
		"overlay key": {func(s *v1alpha1.CinderSpec) {
			s.ExtraConfig = map[string]map[string]string{"DEFAULT": {"a\n[x]\nb": "1"}}
		}, "the key"},
		"overlay section": {func(s *v1alpha1.CinderSpec) { s.ExtraConfig = map[string]map[string]string{"a\nb": {"k": "1"}} }, "section name"},
		"logger": {func(s *v1alpha1.CinderSpec) {
			s.Logging = &v1alpha1.LoggingSpec{PerLoggerLevels: map[string]v1alpha1.LogLevel{"a,b": "INFO"}}
		}, "default_log_levels"},
	} {
		t.Run(name, func(t *testing.T) {
			cinder := rendertest.KeystoneCinder()
			c.change(&cinder.Spec)
			data, _, err := conf.Shared(cinder, "")
			if err == nil || data != nil {
				t.Fatalf("rendered:\n%s", joined(data))
			}
			if !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\r\x00\t") {
				t.Errorf("the error %q does not name %q on one line", err, c.says)
			}
		})
	}
}

func TestInlinePolicyRulesWin(t *testing.T) {
	got := shared(t, rendertest.FullCinder(), "volume:create: role:nobody\nvolume:get: role:reader\n")[render.KeyPolicy]
	if !strings.Contains(got, "volume:create: role:member\n") || !strings.Contains(got, "volume:get: role:reader\n") {
		t.Errorf("got:\n%s", got)
	}
	if _, err := conf.Policy(rendertest.FullCinder(), "- a list\n"); err == nil {
		t.Error("a policy.yaml that is no map is taken")
	}
}
