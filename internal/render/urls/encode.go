// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Encode percent-encodes every byte outside `A-Z a-z 0-9 - _ . ~`.
// url.UserPassword leaves `$ & + , ; =` raw, PathEscape `@ : $ & + =`, and
// QueryEscape writes a blank as `+`: none of them is safe in either URL.
func Encode(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9',
			c == '-', c == '_', c == '.', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// decode undoes percent-encoding as Python's unquote does: what is no escape
// stays as it is, so a URL that Cinder accepts is not refused for a bare `%`.
func decode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// EscapeEnv makes a value literal for an `OS_<GROUP>__<OPTION>` variable:
// oslo.config uses such a value as it is but for the substitution of `$name`,
// so every `$` is written `\$`.
func EscapeEnv(value string) string {
	return strings.ReplaceAll(value, "$", `\$`)
}

// hostText writes a host for a URL: an IPv6 address in brackets, a name or an
// IPv4 address as it is.
func hostText(host string) (string, error) {
	if host == "" {
		return "", fmt.Errorf("the host is empty")
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if bare == "" || strings.HasPrefix(host, "[") != strings.HasSuffix(host, "]") {
		return "", fmt.Errorf("the host %q carries a bracket that encloses nothing", host)
	}
	if strings.Contains(bare, ":") {
		addr, err := netip.ParseAddr(bare)
		if err != nil || addr.Zone() != "" {
			return "", fmt.Errorf("the host %q carries a colon but is no IPv6 address", host)
		}
		return "[" + addr.String() + "]", nil
	}
	for _, c := range bare {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", c) {
			return "", fmt.Errorf("the host %q carries a character that no host name has", host)
		}
	}
	return bare, nil
}
