// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// DefaultClustersNamespace is where registrations are looked for unless told otherwise.
const DefaultClustersNamespace = "c5c3-clusters"

// ChildKind is a kind of object that the operator creates on a cluster.
type ChildKind struct {
	// Object is an empty object of the kind: typed, or unstructured with its GroupVersionKind set. A cached read of the
	// kind has to use the same form.
	Object client.Object
	// Optional says that a cluster may not serve the kind. It is left out there until the cluster does.
	Optional bool
	// KeepResourceVersionKey says that an apply of the kind is to be skipped by resourceVersion, for kinds whose
	// generation never moves. The registry does not look at it.
	KeepResourceVersionKey bool
}

// Event says that an object changed on a cluster.
type Event struct {
	// Cluster is the registered name; empty for the hub.
	Cluster string
	// Object is a child as it is cached, or the *metav1.PartialObjectMetadata of a Secret or ConfigMap that is not
	// necessarily ours, with its GroupVersionKind set and without labels and annotations, or the unstructured object of a
	// kind of Options.References with its status alone. It must not be changed.
	Object client.Object
	// Old is the object before an update, else nil.
	Old client.Object
	// Deleted says that the object is gone; Object is then its last known state.
	Deleted bool
}

// Timing holds every time limit of the registry, so that tests can shorten them.
type Timing struct {
	// ConnectGrace is how long the first attempt to connect since the process started may hold answers back as
	// CauseStarting. Default 10s.
	ConnectGrace time.Duration
	// ProbeInterval is the pause between two probes of a connected cluster. Default 10s.
	ProbeInterval time.Duration
	// ProbeTimeout bounds one probe. Default 5s.
	ProbeTimeout time.Duration
	// ProbeFailures is how many failures in a row make a cluster unreachable. Default 5.
	ProbeFailures int
	// DiscoverEvery is how many probes pass between two discoveries. Default 6.
	DiscoverEvery int
	// CallTimeout bounds every call but watches. Default 10s.
	CallTimeout time.Duration
	// Patience is how long several calls to a cluster wait side by side while nothing comes from it; then the oldest alone
	// waits on. Default 2s.
	Patience time.Duration
	// WatchTimeout bounds the establishment of a watch. Default 60s.
	WatchTimeout time.Duration
	// SyncTimeout bounds the first synchronisation of the caches of a connection. Default 60s.
	SyncTimeout time.Duration
	// RetryMin and RetryMax bound the time between the starts of two attempts to connect. Default 500ms and 10s.
	RetryMin, RetryMax time.Duration
}

// Options configure a Registry.
type Options struct {
	// Hub is the cluster that holds the custom resources. It may be given later, by SetHub, but before Start.
	Hub cluster.Cluster
	// Scheme knows every typed object of this package's callers. Required.
	Scheme *runtime.Scheme
	// ClustersNamespace is the namespace of registrations. Empty switches target clusters off.
	ClustersNamespace string
	// RequireAllowedNamespaces makes a registration without allowedNamespaces admit nobody instead of everybody.
	RequireAllowedNamespaces bool
	// AllowInsecure admits kubeconfigs that skip the verification of the server's certificate.
	AllowInsecure bool
	// AllowLocal admits loopback and link-local server and proxy addresses.
	AllowLocal bool
	// Timing; zero values take the defaults.
	Timing
	// Limits; zero values take the defaults.
	Limits Limits
	// Children are the kinds that are cached on every cluster, restricted to ChildSelector.
	Children []ChildKind
	// References are kinds that others own and whose status the operator looks at: see Reference. They are watched in the
	// namespaces in use, those without a namespace everywhere, and but for the status without content. A kind that is not
	// served or may not be watched is left out, as with children.
	References []schema.GroupVersionKind
	// NamespacesInUse lists the namespaces with custom resources whose children live on a cluster; the name is empty for
	// the hub. What users own is watched in these and nowhere else. It is called often and has to answer from a cache;
	// Registry.Recount tells of changes. Without it a namespace is watched from the first read in it on.
	NamespacesInUse func(ctx context.Context, cluster string) ([]string, error)
	// Namespace is the only namespace that is looked at, on the hub and on every target; empty means all.
	Namespace string
	// Permissions are what the account of a registration needs. What it lacks of them stands in the TargetCluster.
	Permissions []Permission
	// ChildSelector selects what is ours. Required.
	ChildSelector labels.Selector
	// CountOwners says how many custom resources name a cluster. It is called often and has to answer from a cache.
	// Without it TargetClusters show 0.
	CountOwners func(ctx context.Context, cluster string) (int, error)
	// Forgotten is told the name of a cluster that was deregistered, when everything of it has ended.
	Forgotten func(cluster string)
	// Recorder records events on registrations. Default: the hub's recorder.
	Recorder events.EventRecorder
	// Metrics is where the metrics are registered. Default: nowhere.
	Metrics prometheus.Registerer
	// Logger. Default: discards.
	Logger logr.Logger
}

func (o Options) validated() (Options, error) {
	if o.Scheme == nil {
		return o, errors.New("clusters: Options.Scheme is required")
	}
	if o.ChildSelector == nil {
		return o, errors.New("clusters: Options.ChildSelector is required")
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.Timing = o.withDefaults()
	return o, nil
}

func (t Timing) withDefaults() Timing {
	orDefault(&t.ConnectGrace, 10*time.Second)
	orDefault(&t.ProbeInterval, 10*time.Second)
	orDefault(&t.ProbeTimeout, 5*time.Second)
	orDefault(&t.ProbeFailures, 5)
	orDefault(&t.DiscoverEvery, 6)
	orDefault(&t.CallTimeout, 10*time.Second)
	orDefault(&t.Patience, 2*time.Second)
	orDefault(&t.WatchTimeout, 60*time.Second)
	orDefault(&t.SyncTimeout, 60*time.Second)
	orDefault(&t.RetryMin, 500*time.Millisecond)
	orDefault(&t.RetryMax, 10*time.Second)
	return t
}

// discovery bounds one discovery as a whole, which is several calls.
func (t Timing) discovery() time.Duration { return 3 * t.CallTimeout }

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
