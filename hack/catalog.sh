#!/usr/bin/env bash
# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the option catalog of one OpenStack release, api/catalog/data/RELEASE.json, from Cinder's own source tree. It is run
# by hand when a release is taken on, never by 'make generate': it needs the tree and a Python package index.
#
#   hack/catalog.sh RELEASE TREE CONSTRAINTS
#
#   RELEASE      the name of the release, such as 2026.1
#   TREE         a source tree of Cinder at the release's tag
#   CONSTRAINTS  the upper-constraints.txt of the same release (openstack/requirements): the options of the oslo libraries
#                are part of cinder.conf, so they have to be those of that release
#
# The list is what oslo.config's own generator says, machine-readable, with the configuration file that Cinder ships for
# it. Two things are added that it does not print: the names under which an option was known before (they are still read,
# and are deprecated for the new name), and the options that drivers register by themselves when they are loaded.

set -euo pipefail

release=${1:?usage: catalog.sh RELEASE TREE CONSTRAINTS}
tree=$(realpath "${2:?usage: catalog.sh RELEASE TREE CONSTRAINTS}")
constraints=$(realpath "${3:?usage: catalog.sh RELEASE TREE CONSTRAINTS}")
out=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/api/catalog/data/${release}.json

work=$(mktemp -d "${TMPDIR:-/tmp}/cinder-catalog.XXXXXX")
trap 'rm -rf "${work}"' EXIT

python3 -m venv "${work}/venv"
"${work}/venv/bin/pip" install --quiet -c "${constraints}" "${tree}" python-memcached oslo.messaging[kafka]

# What the sample cinder.conf is generated from names every namespace.
"${work}/venv/bin/oslo-config-generator" --config-file "${tree}/tools/config/cinder-config-generator.conf" \
  --format json --output-file "${work}/options.json"

"${work}/venv/bin/python" - "${release}" "${work}/options.json" >"${work}/catalog.json" <<'END'
import importlib, json, pkgutil, sys
from importlib.metadata import version

from oslo_config import cfg

release, path = sys.argv[1:]
with open(path) as f:
    generated = json.load(f)

sections = {}


def section_name(name):
    return name if name == "DEFAULT" else name.lower()


def add(section, name, deprecated=False, replacement=None):
    options = sections.setdefault(section_name(section), {})
    about = options.setdefault(name, {})
    if deprecated:
        about["deprecated"] = True
    if replacement:
        about["replacement"] = replacement


def old_names(section, name, opts):
    for old in opts:
        group, old_name = old.get("group") or section, old.get("name") or name
        if (section_name(group), old_name) != (section_name(section), name):
            add(group, old_name, True, "[%s] %s" % (section_name(section), name))


# Old names come first: where a name is both, what the option says of itself wins.
groups = generated["options"].items()
for section, group in groups:
    for opt in group["opts"]:
        old_names(section, opt["dest"], opt.get("deprecated_opts") or [])
for section, group in groups:
    for opt in group["opts"]:
        sections.setdefault(section_name(section), {}).pop(opt["dest"], None)
        add(section, opt["dest"], opt.get("deprecated_for_removal", False))

# Whatever a driver registers by itself goes into its backend's section, and into DEFAULT for the oldest of them.
backend = {opt["dest"] for opt in generated["options"]["backend_defaults"]["opts"]}
import cinder.volume.drivers as drivers

for module in pkgutil.walk_packages(drivers.__path__, "cinder.volume.drivers.", onerror=lambda _: None):
    try:
        loaded = importlib.import_module(module.name)
    except Exception as e:  # a vendor's library that is not installed
        print("not loaded: %s: %s" % (module.name, e), file=sys.stderr)
        continue
    for value in vars(loaded).values():
        if isinstance(value, list) and value and all(isinstance(o, cfg.Opt) for o in value):
            for opt in value:
                backend.add(opt.dest)
                for section in ("DEFAULT", "backend_defaults"):
                    if opt.dest not in sections[section]:
                        add(section, opt.dest, bool(opt.deprecated_for_removal))

# One section a line, so that a difference between releases can be read.
print('{"release":%s,\n"cinder":%s,\n"sections":{' % (json.dumps(release), json.dumps(version("cinder"))))
names = sorted(sections, key=lambda n: (n != "DEFAULT", n))
print(",\n".join("%s:%s" % (json.dumps(n), json.dumps(sections[n], sort_keys=True, separators=(",", ":"))) for n in names))
print('},\n"backend_options":%s}' % json.dumps(sorted(backend), separators=(",", ":")))
END

# Nothing is replaced by half a catalog.
mv "${work}/catalog.json" "${out}"
echo "${out}" >&2
echo "now run: go test ./api/catalog/" >&2
