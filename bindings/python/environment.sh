# shellcheck shell=bash disable=SC2034,SC2154 # whoever includes this file uses and sets them
# SPDX-License-Identifier: Apache-2.0
# What check.sh and wheels.sh share: interpreters, environments and builds. `root` and `scratch` are
# set by who includes it.

readonly minors=(10 11 12 13)

# find_python MINOR: the interpreter of CPython 3.MINOR. A name on PATH may be a shim of pyenv that
# runs only where its version is chosen.
find_python() {
  local ask='import sys; sys.version_info[:2] == (3, int(sys.argv[1])) and print(sys.executable)'
  local version found
  found=$("python3.$1" -c "$ask" "$1" 2>/dev/null) || found=
  if [ -z "$found" ] && command -v pyenv >/dev/null; then
    version=$(pyenv versions --bare | grep "^3\.$1\.[0-9]*$" | sort --version-sort | tail -n 1)
    found=$(PYENV_VERSION=$version "python3.$1" -c "$ask" "$1" 2>/dev/null) || found=
  fi
  [ -n "$found" ] && echo "$found"
}

has_headers() {
  "$1" -c 'import os.path, sysconfig
raise SystemExit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

# A pip that installs into other environments.
need_pip() {
  pip=$scratch/pip/bin/python
  [ -x "$pip" ] || python3 -m venv "$scratch/pip"
}

# need_environment FOLDER PYTHON REQUIREMENTS...: an environment with just those packages.
need_environment() {
  local folder=$1 python=$2 stamp file options=()
  shift 2
  stamp=$folder/$({
    echo "$python"
    cat "$@"
  } | sha256sum | cut -c 1-16).stamp
  need_pip
  [ ! -e "$stamp" ] || return 0
  for file in "$@"; do options+=(--requirement "$file"); done
  rm -rf "$folder"
  "$python" -m venv --without-pip "$folder"
  "$pip" -m pip --python "$folder/bin/python" install --disable-pip-version-check --quiet \
    --no-deps "${options[@]}"
  touch "$stamp"
}

# need_zig: the compiler of the release archives, in the environment that `./run package` has too.
need_zig() {
  local folder=$root/build/zig-venv requirements=$root/packaging/requirements.txt stamp
  stamp=$folder/$(sha256sum "$requirements" | cut -c 1-16).stamp
  if [ ! -e "$stamp" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --disable-pip-version-check --quiet \
      --requirement "$requirements"
    touch "$stamp"
  fi
  zig=$(echo "$folder"/lib/python3*/site-packages/ziglang/zig)
  export ZIG_GLOBAL_CACHE_DIR=$root/build/zig-cache ZIG_LOCAL_CACHE_DIR=$root/build/zig-cache
}

use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_DIR=${CCACHE_DIR:-$root/build/ccache} CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
}

# build_tree MINOR PYTHON FOLDER OPTION...: the package in FOLDER/package, ready for PYTHONPATH: what
# was built there, and links to the sources in Python.
build_tree() {
  local tools=$scratch/tools-3.$1 package=$3/package/dlbridge
  need_environment "$tools" "$2" "$here/requirements/build.txt"
  use_ccache
  cmake -S "$here" -B "$3" -G Ninja -DPython_EXECUTABLE="$tools/bin/python" -DDLBRIDGE_WERROR=ON \
    "${@:4}"
  cmake --build "$3"
  mkdir -p "$package"
  find "$package" -maxdepth 1 -type l -delete
  find "$here/dlbridge" -mindepth 1 -maxdepth 1 ! -name __pycache__ -exec ln -s -t "$package" {} +
  ln -s "$root/include" "$package/include"
}
