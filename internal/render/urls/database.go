// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultDatabasePort is the port of MySQL and MariaDB.
const DefaultDatabasePort int32 = 3306

// TLS modes of a database connection.
const (
	TLSDisabled   = "disabled"
	TLSPrefer     = "prefer"
	TLSRequire    = "require"
	TLSVerifyCA   = "verify-ca"
	TLSVerifyFull = "verify-full"
)

// Database describes a database connection of PyMySQL.
type Database struct {
	Host string
	// Port is 3306 when zero.
	Port               int32
	Name               string
	Username, Password string
	// TLSMode is one of the TLS modes; empty and `disabled` mean none.
	TLSMode string
	// CAFile is the path of the CA bundle in the pods. The modes that verify
	// need it; the others leave it out, because naming a CA makes PyMySQL verify.
	CAFile string
	// CertFile and KeyFile are the paths of the client pair, or both empty.
	CertFile, KeyFile string
}

// URL writes the connection as
// `mysql+pymysql://user:password@host:port/name?charset=utf8mb4` with the TLS
// parameters behind. `ssl_verify_*` is never written: it makes PyMySQL drop the
// CA. The error says what is missing or cannot be used.
func (d Database) URL() (string, error) {
	switch {
	case d.Username == "":
		return "", fmt.Errorf("the database user name is empty")
	case d.Password == "":
		return "", fmt.Errorf("the database password is empty")
	case d.Name == "":
		return "", fmt.Errorf("the database name is empty")
	}
	host, err := hostText(d.Host)
	if err != nil {
		return "", err
	}
	port := d.Port
	if port == 0 {
		port = DefaultDatabasePort
	}
	params := []string{"charset=utf8mb4"}
	tls, err := d.tlsParams()
	if err != nil {
		return "", err
	}
	params = append(params, tls...)
	return "mysql+pymysql://" + Encode(d.Username) + ":" + Encode(d.Password) + "@" +
		host + ":" + strconv.Itoa(int(port)) + "/" + Encode(d.Name) + "?" + strings.Join(params, "&"), nil
}

func (d Database) tlsParams() ([]string, error) {
	var params []string
	switch d.TLSMode {
	case "", TLSDisabled:
		return nil, nil
	case TLSPrefer, TLSRequire:
		params = append(params, "ssl_check_hostname=false")
	case TLSVerifyCA, TLSVerifyFull:
		if d.CAFile == "" {
			return nil, fmt.Errorf("database TLS mode %s needs a CA bundle", d.TLSMode)
		}
		params = append(params, "ssl_ca="+d.CAFile)
		if d.TLSMode == TLSVerifyCA {
			params = append(params, "ssl_check_hostname=false")
		}
	default:
		return nil, fmt.Errorf("unknown database TLS mode %q", d.TLSMode)
	}
	if (d.CertFile == "") != (d.KeyFile == "") {
		return nil, fmt.Errorf("a database client certificate needs both a certificate and a key")
	}
	if d.CertFile != "" {
		params = append(params, "ssl_cert="+d.CertFile, "ssl_key="+d.KeyFile)
	}
	return params, nil
}
