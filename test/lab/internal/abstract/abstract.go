// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package abstract listens on unix sockets in the kernel's abstract namespace. They have no file and thus no
// permissions: the other end's user is checked on each connection instead.
package abstract

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Listen binds a name that begins with "@". It fails while another process holds the name.
func Listen(name string) (net.Listener, error) {
	listener, err := net.Listen("unix", name)
	if err != nil {
		return nil, err
	}
	return &sameUser{Listener: listener}, nil
}

// Dial connects to a name.
func Dial(ctx context.Context, name string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", name)
}

// sameUser drops connections of other users, root excepted.
type sameUser struct {
	net.Listener
}

// Accept returns the next connection of this user.
func (l *sameUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(conn); err == nil && (uid == 0 || uid == os.Getuid()) {
			return conn, nil
		}
		conn.Close()
	}
}

func peer(conn net.Conn) (uid int, err error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("find the peer: unexpected type %T", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}
