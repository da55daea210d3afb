// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"c5c3.io/cinder-operator/api/catalog"
	"c5c3.io/cinder-operator/api/v1alpha1"
)

func TestExtraConfigIsHeldAgainstTheCatalog(t *testing.T) {
	owned := func(section, key string) string {
		return "spec.extraConfig[" + section + "][" + key + "]: [" + section + "] " + key + " is set by the operator and cannot be overridden"
	}
	for name, tc := range map[string]struct {
		release             string
		section, key, value string
		want, warn          []string
	}{
		"an option of the release":               {section: "DEFAULT", key: "osapi_max_limit", value: "100"},
		"an option that the operator renders":    {section: "DEFAULT", key: "debug", value: "true"},
		"a section in another spelling":          {section: "DataBase", key: "max_pool_size", value: "5"},
		"a substitution":                         {section: "DEFAULT", key: "state_path", value: "$nova/x"},
		"an unknown option":                      {section: "DEFAULT", key: "osapi_max_limits", want: []string{"spec.extraConfig[DEFAULT][osapi_max_limits]: [DEFAULT] osapi_max_limits: no such option in the cinder 2026.1 option catalog"}},
		"an option in another spelling":          {section: "DEFAULT", key: "Debug", want: []string{"spec.extraConfig[DEFAULT][Debug]: no such option in the cinder 2026.1 option catalog"}},
		"an unknown option of the later release": {release: "2026.2", section: "DEFAULT", key: "nothing", want: []string{"spec.extraConfig[DEFAULT][nothing]: no such option in the cinder 2026.2 option catalog"}},
		"an unknown section":                     {section: "default", key: "debug", want: []string{"spec.extraConfig[default][debug]: [default] debug: no such option in the cinder 2026.1 option catalog"}},
		"a deprecated option with a replacement": {section: "DEFAULT", key: "logdir", value: "/x", warn: []string{"[DEFAULT] logdir is deprecated in cinder 2026.1: use [DEFAULT] log_dir"}},
		"a deprecated option without one":        {section: "DEFAULT", key: "backdoor_port", value: "1", warn: []string{"[DEFAULT] backdoor_port is deprecated in cinder 2026.1 and will be removed"}},
		"a release without catalog":              {release: "2031.1", section: "anything", key: "goes", warn: []string{"there is no option catalog of release 2031.1"}},
		"a line break in the value":              {section: "DEFAULT", key: "debug", value: "a\n[x]", want: []string{"spec.extraConfig[DEFAULT][debug]: the value must not contain a newline or carriage return"}},
		"a carriage return in the value":         {section: "DEFAULT", key: "debug", value: "a\rb=c", want: []string{"spec.extraConfig[DEFAULT][debug]: the value must not contain a newline or carriage return"}},
		"another control character in the value": {section: "DEFAULT", key: "debug", value: "a\u0085b", want: []string{"spec.extraConfig[DEFAULT][debug]: the value must not contain a control character"}},
		"a line break in the key":                {section: "DEFAULT", key: "debug\nx", want: []string{"spec.extraConfig[DEFAULT][debug\nx]: the option name must not contain a newline or carriage return"}},
		"a line break in the section":            {section: "DEFAULT\n", key: "debug", want: []string{"spec.extraConfig[DEFAULT\n]: the section name must not contain a newline or carriage return"}},
		"an empty section":                       {section: "", key: "debug", want: []string{"spec.extraConfig[]: the section name must not be empty"}},
		"an empty key":                           {section: "DEFAULT", key: "", want: []string{"spec.extraConfig[DEFAULT][]: the option name must not be empty"}},
		"a section that ends early":              {section: "DEFAULT]", key: "debug", want: []string{"spec.extraConfig[DEFAULT]]: the section name must not contain a bracket"}},
		"a section with a blank":                 {section: " DEFAULT", key: "debug", want: []string{"spec.extraConfig[ DEFAULT]: the section name must not start or end with white space"}},
		"a key that is two":                      {release: "2031.1", section: "DEFAULT", key: "transport_url = x", want: []string{"spec.extraConfig[DEFAULT][transport_url = x]: the option name must not contain"}, warn: []string{"no option catalog"}},
		"a key that is a comment":                {release: "2031.1", section: "DEFAULT", key: "#debug", want: []string{"spec.extraConfig[DEFAULT][#debug]: the option name must not start with"}, warn: []string{"no option catalog"}},
		"a key with a blank in front":            {release: "2031.1", section: "DEFAULT", key: " debug", want: []string{"spec.extraConfig[DEFAULT][ debug]: the option name must not start or end with white space"}, warn: []string{"no option catalog"}},
		"the authentication strategy":            {section: "DEFAULT", key: "auth_strategy", want: []string{owned("DEFAULT", "auth_strategy")}},
		"the paste file":                         {section: "DEFAULT", key: "api_paste_config", want: []string{owned("DEFAULT", "api_paste_config")}},
		"the transport URL":                      {section: "DEFAULT", key: "transport_url", want: []string{owned("DEFAULT", "transport_url")}},
		"the connection":                         {section: "database", key: "connection", want: []string{owned("database", "connection")}},
		"the connection in another spelling":     {section: "DATABASE", key: "connection", want: []string{owned("DATABASE", "connection")}},
		"the connection of an unknown release":   {release: "2031.1", section: "database", key: "connection", want: []string{owned("database", "connection")}, warn: []string{"no option catalog"}},
		"the password of keystone_authtoken":     {section: "keystone_authtoken", key: "password", want: []string{owned("keystone_authtoken", "password")}},
		"the password of service_user":           {section: "service_user", key: "password", want: []string{owned("service_user", "password")}},
		"the password of nova":                   {section: "nova", key: "password", want: []string{owned("nova", "password")}},
		"the helper of cinder_sys_admin":         {section: "cinder_sys_admin", key: "helper_command", want: []string{owned("cinder_sys_admin", "helper_command")}},
		"the capabilities of cinder_sys_admin":   {section: "cinder_sys_admin", key: "capabilities", want: []string{owned("cinder_sys_admin", "capabilities")}},
		"the helper of privsep_osbrick":          {section: "privsep_osbrick", key: "helper_command", want: []string{owned("privsep_osbrick", "helper_command")}},
		"the capabilities of privsep_osbrick":    {section: "privsep_osbrick", key: "capabilities", want: []string{owned("privsep_osbrick", "capabilities")}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := newCinder()
			if tc.release != "" {
				obj.Spec.OpenStackRelease = tc.release
			}
			obj.Spec.ExtraConfig = map[string]map[string]string{tc.section: {tc.key: tc.value}}
			warnings, errs := ValidateCinder(obj, nil, CinderFacts{})
			wantErrors(t, errs, tc.want)
			wantWarnings(t, warnings, tc.warn)
		})
	}
}

func TestACatalogThatChangedKeepsNobodyFromChangingTheRest(t *testing.T) {
	stored := newCinder()
	stored.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"osapi_max_limits": "1"}, "nowhere": {}}
	missing := []string{
		"spec.extraConfig[DEFAULT][osapi_max_limits]: [DEFAULT] osapi_max_limits: no such option in the cinder 2026.1 option catalog",
		"spec.extraConfig[nowhere]: [nowhere]: no such section in the cinder 2026.1 option catalog",
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Cinder)
		judged bool
	}{
		"a label":                {func(c *v1alpha1.Cinder) { c.Labels = map[string]string{"a": "b"} }, false},
		"another field":          {func(c *v1alpha1.Cinder) { c.Spec.Region = "one" }, false},
		"another option":         {func(c *v1alpha1.Cinder) { c.Spec.ExtraConfig["DEFAULT"]["debug"] = "true" }, true},
		"a value":                {func(c *v1alpha1.Cinder) { c.Spec.ExtraConfig["DEFAULT"]["osapi_max_limits"] = "2" }, true},
		"the release, to 2026.2": {func(c *v1alpha1.Cinder) { c.Spec.OpenStackRelease = "2026.2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := stored.DeepCopy()
			tc.change(obj)
			warnings, errs := ValidateCinder(obj, stored, CinderFacts{})
			if !tc.judged {
				wantErrors(t, errs, nil)
				wantWarnings(t, warnings, missing)
				return
			}
			if len(errs) != 2 || len(warnings) != 0 {
				t.Errorf("violations:\n%s\nwarnings: %q", list(errs), warnings)
			}
		})
	}
	owned := newCinder()
	owned.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"transport_url": "x"}}
	_, errs := ValidateCinder(owned, owned.DeepCopy(), CinderFacts{})
	wantErrors(t, errs, []string{"spec.extraConfig[DEFAULT][transport_url]: [DEFAULT] transport_url is set by the operator"})
}

func TestASectionOfNothingIsNamedToo(t *testing.T) {
	obj := newCinder()
	obj.Spec.ExtraConfig = map[string]map[string]string{"nowhere": {}, "database": {}}
	_, errs := ValidateCinder(obj, nil, CinderFacts{})
	wantErrors(t, errs, []string{"spec.extraConfig[nowhere]: no such section in the cinder 2026.1 option catalog"})
}

func TestNoMessageHoldsAValueOfExtraConfig(t *testing.T) {
	obj := newCinder()
	obj.Spec.ExtraConfig = map[string]map[string]string{
		"database": {"connection": "s3cret", "nothing": "s3cret", "max_retries": "s3cret\n"},
		"DEFAULT":  {"logdir": "s3cret"},
	}
	warnings, errs := ValidateCinder(obj, nil, CinderFacts{})
	if len(errs) != 3 || len(warnings) != 1 {
		t.Fatalf("violations %s, warnings %q", list(errs), warnings)
	}
	if text := list(errs) + strings.Join(warnings, "\n"); strings.Contains(text, "s3cret") {
		t.Errorf("a value is told: %s", text)
	}
}

func TestEveryOptionOfACatalogIsAcceptedOrBelongsToTheOperator(t *testing.T) {
	for _, release := range catalog.Releases() {
		options, _ := catalog.For(release)
		for _, section := range options.Sections() {
			for _, key := range options.Options(section) {
				obj := newCinder()
				obj.Spec.OpenStackRelease = release
				obj.Spec.ExtraConfig = map[string]map[string]string{section: {key: "x"}}
				warnings, errs := ValidateCinder(obj, nil, CinderFacts{})
				option, _ := options.Option(section, key)
				switch {
				case len(errs) == 1 && strings.Contains(errs[0].Detail, "is set by the operator"):
				case len(errs) > 0:
					t.Errorf("%s [%s] %s: %s", release, section, key, list(errs))
				case (len(warnings) == 1) != option.Deprecated:
					t.Errorf("%s [%s] %s: warnings %q", release, section, key, warnings)
				}
			}
		}
	}
}
