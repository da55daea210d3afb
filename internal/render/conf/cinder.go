// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"strconv"
	"strings"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render"
	"c5c3.io/cinder-operator/internal/render/ini"
)

// placeholderConnection stands where the real URL would be a credential in a
// ConfigMap; the environment overrides it.
const placeholderConnection = "mysql+pymysql://placeholder"

// Cinder renders cinder.conf, the file that every process reads. It is the
// same for every supported release. overridden lists, sorted, the options
// among the operator's own that spec.extraConfig sets, as `[section] option`.
func Cinder(c *v1alpha1.Cinder) (text string, overridden []string, err error) {
	doc := base(c)
	overridden = overlay(doc, c.Spec.ExtraConfig)
	text, err = doc.Render()
	if err != nil {
		return "", nil, err
	}
	return text, overridden, nil
}

// Scheduler renders scheduler.conf. The scheduler has a host name of its own,
// so that its row in the service registry is not the API's.
func Scheduler(c *v1alpha1.Cinder) (string, error) {
	doc := ini.New()
	doc.Set(ini.DefaultSection, "host", render.SchedulerHost(c.Name))
	return doc.Render()
}

func base(c *v1alpha1.Cinder) *ini.Document {
	doc := ini.New()
	setDefaults(doc, c)
	for _, section := range []string{"cinder_sys_admin", "privsep_osbrick"} {
		doc.Set(section, "capabilities", "")
		doc.Set(section, "helper_command", "privsep-helper --config-dir "+render.ConfigDir)
	}
	doc.Set("coordination", "backend_url", "file://"+render.StateDir+"/coordination")
	doc.Set("database", "connection", placeholderConnection)
	doc.Set("oslo_concurrency", "lock_path", render.StateDir+"/tmp")
	doc.Set("oslo_messaging_notifications", "driver", "noop")
	for _, key := range []string{"rabbit_quorum_queue", "rabbit_transient_quorum_queue", "use_queue_manager"} {
		doc.Set("oslo_messaging_rabbit", key, "true")
	}
	if c.Spec.Messaging.TLS != nil {
		doc.Set("oslo_messaging_rabbit", "ssl", "true")
		doc.Set("oslo_messaging_rabbit", "ssl_ca_file", render.BrokerCAFile)
	}
	if c.Spec.KeystoneEnabled() {
		setIdentity(doc, c)
	}
	setKeyManager(doc, c)
	if c.Spec.PolicyOverrides != nil {
		doc.Set("oslo_policy", "policy_file", render.ConfigDir+"/"+render.KeyPolicy)
	}
	return doc
}

func setDefaults(doc *ini.Document, c *v1alpha1.Cinder) {
	set := func(key, value string) { doc.Set(ini.DefaultSection, key, value) }
	logging := c.Spec.EffectiveLogging()
	set("api_paste_config", render.ImageDir+"/etc/cinder/api-paste.ini")
	set("auth_strategy", "noauth")
	if c.Spec.KeystoneEnabled() {
		set("auth_strategy", "keystone")
	}
	set("debug", strconv.FormatBool(logging.Debug))
	set("host", c.Name)
	set("image_conversion_dir", render.StateDir+"/conversion")
	set("resource_query_filters_file", render.ImageDir+"/etc/cinder/resource_filters.json")
	set("state_path", render.StateDir)
	set("use_stderr", "true")
	if c.Spec.GlanceEndpoint != "" {
		set("glance_api_servers", c.Spec.GlanceEndpoint)
	}
	if t := c.Spec.InternalTenant; t != nil {
		set("cinder_internal_tenant_project_id", t.ProjectID)
		set("cinder_internal_tenant_user_id", t.UserID)
	}
	if logging.Format == v1alpha1.LogFormatJSON {
		// oslo.log takes levels from that file alone then.
		set("log_config_append", render.ConfigDir+"/"+render.KeyLogging)
	} else if levels := textLevels(logging); levels != "" {
		set("default_log_levels", levels)
	}
}

// setIdentity writes who the services are in Keystone. The passwords come from
// the environment.
func setIdentity(doc *ini.Document, c *v1alpha1.Cinder) {
	user := c.Spec.EffectiveServiceUser()
	if user == nil {
		// The schema ties the two together; an object stored past it still
		// gets a file that says keystone.
		user = (&v1alpha1.CinderSpec{ServiceUser: &v1alpha1.ServiceUserSpec{}}).EffectiveServiceUser()
	}
	for _, section := range []string{"keystone_authtoken", "nova", "service_user"} {
		set := func(key, value string) { doc.Set(section, key, value) }
		set("auth_type", "password")
		set("auth_url", c.Spec.KeystoneEndpoint)
		set("project_domain_name", user.ProjectDomainName)
		set("project_name", user.ProjectName)
		set("user_domain_name", user.UserDomainName)
		set("username", user.Username)
		if c.Spec.Region != "" {
			set("region_name", c.Spec.Region)
		}
	}
	doc.Set("keystone_authtoken", "memcached_servers", strings.Join(c.Spec.Cache.EffectiveServers(), ","))
	doc.Set("keystone_authtoken", "www_authenticate_uri", c.Spec.EffectiveKeystonePublicEndpoint())
	doc.Set("nova", "interface", "internal")
	doc.Set("service_user", "send_service_user_token", "true")
}

func setKeyManager(doc *ini.Document, c *v1alpha1.Cinder) {
	if c.Spec.KeyManager == nil || c.Spec.KeyManager.Barbican == nil {
		return
	}
	doc.Set("key_manager", "backend", "barbican")
	doc.Set("barbican", "auth_endpoint", c.Spec.KeystoneEndpoint)
	doc.Set("barbican", "barbican_endpoint", c.Spec.KeyManager.Barbican.Endpoint)
	doc.Set("barbican", "barbican_endpoint_type", "internal")
}
