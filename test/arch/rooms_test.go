// SPDX-FileCopyrightText: The cinder-operator Authors
// SPDX-License-Identifier: Apache-2.0

package arch

// module is the path of the module whose imports are judged.
const module = "c5c3.io/cinder-operator"

// A room is a folder with everything below it, and what may be imported there.
type room struct {
	// folder is the room's path below the module's root. The longest folder
	// that holds a package decides which room it is in.
	folder string
	// may names the rooms whose packages this one may import. A room may always
	// import its own packages.
	may []string
	// mayNot names packages outside the module (with everything below them)
	// that the room, its tests included, does not know.
	mayNot []string
	// helper says that the test files of every room may import this one.
	helper bool
}

// Groups of packages outside the module that a room is kept from.
var (
	clients = []string{
		"k8s.io/client-go",
		"sigs.k8s.io/controller-runtime/pkg/client",
		"sigs.k8s.io/controller-runtime/pkg/cache",
		"sigs.k8s.io/controller-runtime/pkg/cluster",
		"sigs.k8s.io/controller-runtime/pkg/manager",
	}
	multicluster = []string{"sigs.k8s.io/multicluster-runtime", "sigs.k8s.io/cluster-api"}
)

// api are the rooms that everything above them may read.
var api = []string{"api/v1alpha1", "api/catalog", "api/admission"}

// rooms is the table. Imports point downwards only:
//
//	cmd -> controllers -> {internal/render, projection, clusters} -> api
//
// A new top-level folder is added here before it is added to the tree: a
// package in no room fails the test.
var rooms = []room{
	{folder: "api/v1alpha1", mayNot: multicluster},
	{folder: "api/catalog", mayNot: join(clients, multicluster)},
	{folder: "api/admission", may: []string{"api/v1alpha1", "api/catalog"}, mayNot: multicluster},

	{folder: "clusters", may: []string{"api/v1alpha1"}},
	{folder: "projection", may: []string{"api/v1alpha1", "clusters"}},
	{folder: "internal/render", may: []string{"api/v1alpha1", "api/catalog"}, mayNot: join(clients, multicluster)},

	{folder: "controllers/pipeline", may: []string{"api/v1alpha1", "clusters", "projection"}},
	{folder: "controllers/cinder", may: join(api, []string{"clusters", "projection", "internal/render", "controllers/pipeline"})},
	{folder: "controllers/satellite", may: join(api, []string{"clusters", "projection", "internal/render", "controllers/pipeline"})},

	{folder: "cmd", may: join(api, []string{
		"clusters", "projection", "internal/render",
		"controllers/pipeline", "controllers/cinder", "controllers/satellite",
	})},

	// Embeds the generated manifests for whoever installs them.
	{folder: "config"},

	{folder: "test/arch"},
	{folder: "test/e2e", may: everyRoomBelowCmd, helper: true},
	{folder: "test/fuzz", may: join(api, []string{"internal/render"})},
	{folder: "test/bench", may: join(everyRoomBelowCmd, []string{"test/e2e"})},
}

// everyRoomBelowCmd is what a suite may import. It starts the commands as
// processes and never links them.
var everyRoomBelowCmd = join(api, []string{
	"clusters", "projection", "internal/render",
	"controllers/pipeline", "controllers/cinder", "controllers/satellite", "config",
})

// nowhere lists what no package of the module imports or reaches through
// another one: the lab and what it runs are modules of their own, so are the
// tools, and what only an API server can say is asked of an API server.
var nowhere = []string{
	module + "/test/lab",
	module + "/hack/tools",
	"k8s.io/kubernetes",
	"go.etcd.io/etcd/server",
	"sigs.k8s.io/kwok",
	"sigs.k8s.io/controller-tools",
	"github.com/golangci/golangci-lint",
	"sigs.k8s.io/controller-runtime/pkg/client/fake",
	"k8s.io/client-go/kubernetes/fake",
	"k8s.io/client-go/dynamic/fake",
	"k8s.io/client-go/metadata/fake",
}

func join(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
