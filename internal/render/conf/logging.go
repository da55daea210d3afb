// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package conf

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"c5c3.io/cinder-operator/api/v1alpha1"
	"c5c3.io/cinder-operator/internal/render/ini"
)

// libraryLevels are oslo.log's own defaults. Setting default_log_levels
// replaces them, and a logging.ini has none, so they are carried along:
// without them sqlalchemy logs every statement with its parameters.
var libraryLevels = map[string]v1alpha1.LogLevel{
	"amqp":                   v1alpha1.LogLevelWarning,
	"amqplib":                v1alpha1.LogLevelWarning,
	"boto":                   v1alpha1.LogLevelWarning,
	"dogpile.core.dogpile":   v1alpha1.LogLevelInfo,
	"iso8601":                v1alpha1.LogLevelWarning,
	"keystoneauth":           v1alpha1.LogLevelWarning,
	"keystonemiddleware":     v1alpha1.LogLevelWarning,
	"oslo.cache":             v1alpha1.LogLevelInfo,
	"oslo.messaging":         v1alpha1.LogLevelInfo,
	"oslo_messaging":         v1alpha1.LogLevelInfo,
	"oslo_policy":            v1alpha1.LogLevelInfo,
	"qpid":                   v1alpha1.LogLevelWarning,
	"routes.middleware":      v1alpha1.LogLevelWarning,
	"sqlalchemy":             v1alpha1.LogLevelWarning,
	"stevedore":              v1alpha1.LogLevelWarning,
	"suds":                   v1alpha1.LogLevelInfo,
	"taskflow":               v1alpha1.LogLevelWarning,
	"urllib3.connectionpool": v1alpha1.LogLevelWarning,
	"urllib3.util.retry":     v1alpha1.LogLevelWarning,
	"websocket":              v1alpha1.LogLevelWarning,
	"requests.packages.urllib3.connectionpool": v1alpha1.LogLevelWarning,
	"requests.packages.urllib3.util.retry":     v1alpha1.LogLevelWarning,
}

// severity orders the levels.
var severity = map[v1alpha1.LogLevel]int{
	v1alpha1.LogLevelDebug:    1,
	v1alpha1.LogLevelInfo:     2,
	v1alpha1.LogLevelWarning:  3,
	v1alpha1.LogLevelError:    4,
	v1alpha1.LogLevelCritical: 5,
}

// levels returns the level of the root logger and those of the others: the
// user's, and the libraries' that are quieter than the root.
func levels(logging v1alpha1.LoggingSettings) (root v1alpha1.LogLevel, others map[string]v1alpha1.LogLevel) {
	root = logging.Level
	if logging.Debug {
		root = v1alpha1.LogLevelDebug
	}
	if level, set := logging.PerLoggerLevels["root"]; set {
		root = level
	}
	others = map[string]v1alpha1.LogLevel{}
	for name, level := range libraryLevels {
		if severity[level] > severity[root] {
			others[name] = level
		}
	}
	maps.Copy(others, logging.PerLoggerLevels)
	delete(others, "root")
	return root, others
}

// textLevels is the value of default_log_levels, or empty where oslo.log's own
// defaults serve. By its options oslo.log gives the root logger INFO, or with
// debug DEBUG; any other level is set here under the name root.
func textLevels(logging v1alpha1.LoggingSettings) string {
	byOption := v1alpha1.LogLevelInfo
	if logging.Debug {
		byOption = v1alpha1.LogLevelDebug
	}
	root, others := levels(logging)
	if root == byOption && len(logging.PerLoggerLevels) == 0 {
		return ""
	}
	var pairs []string
	if root != byOption {
		pairs = append(pairs, "root="+string(root))
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		pairs = append(pairs, name+"="+string(others[name]))
	}
	return strings.Join(pairs, ",")
}

// checkLoggers refuses logger names that end early in a list or are an
// interpolation in Python's configparser.
func checkLoggers(logging v1alpha1.LoggingSettings) error {
	for _, name := range slices.Sorted(maps.Keys(logging.PerLoggerLevels)) {
		if name == "" || strings.ContainsAny(name, ",=%\"' ") || ini.HasControl(name) {
			return &ini.Error{
				Section: ini.DefaultSection, Key: "default_log_levels",
				Reason: "logger name " + strconv.Quote(name) + ` is empty or carries white space, a quote, a control character or one of ",=%"`,
			}
		}
	}
	return nil
}

// Logging renders logging.ini, which json logging needs: every process writes
// one JSON object per line to stderr. The file is read by Python's
// configparser, not by oslo.config. Without json logging it is empty.
func Logging(c *v1alpha1.Cinder) (string, error) {
	logging := c.Spec.EffectiveLogging()
	if err := checkLoggers(logging); err != nil || logging.Format != v1alpha1.LogFormatJSON {
		return "", err
	}
	root, others := levels(logging)
	doc := ini.New()
	set := doc.SetVerbatim
	set("formatters", "keys", "json")
	set("formatter_json", "class", "oslo_log.formatters.JSONFormatter")
	set("handlers", "keys", "stderr")
	set("handler_stderr", "class", "StreamHandler")
	set("handler_stderr", "args", "(sys.stderr,)")
	set("handler_stderr", "formatter", "json")
	set("logger_root", "handlers", "stderr")
	set("logger_root", "level", string(root))
	keys := []string{"root"}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		section := "logger_" + name
		set(section, "handlers", "")
		set(section, "level", string(others[name]))
		set(section, "qualname", name)
		keys = append(keys, name)
	}
	set("loggers", "keys", strings.Join(keys, ","))
	return doc.Render()
}
