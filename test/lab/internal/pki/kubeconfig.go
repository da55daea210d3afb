// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Login is what a kubeconfig proves its user with: a certificate or a token.
type Login struct {
	Pair
	Token string
}

// Kubeconfig writes a kubeconfig for one user of one cluster. Everything in it is inline: the operator refuses
// kubeconfigs that refer to files.
func Kubeconfig(cluster, user, server string, ca []byte, login Login) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: login.Cert,
		ClientKeyData:         login.Key,
		Token:                 login.Token,
	}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	return clientcmd.Write(*config)
}
