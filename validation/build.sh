#!/bin/bash
# Builds what measure.py needs: a User-Mode Linux kernel with MPTCP, netem, tbf and time travel, and the guest's two programs.
#
#   build.sh OUT [--source DIR|TARBALL] [--kernel FILE] [--enable NAME]...
#
# OUT gets: linux-uml, stream, entropy.so. Without --source, Debian's linux-source-6.12 is installed and used (as root). With
# --kernel, a kernel that was built before is taken as it is. --enable sets a further option of the kernel's configuration.
# About 6 minutes on 2 cores; needs gcc, make, flex, bison, bc and the headers of libelf and libssl; the guest uses the host's
# ip, tc, ethtool, ping, tcpdump and nstat.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }

out= source= kernel= enabled=()
while [ $# -gt 0 ]; do
    case $1 in
        --source) source=${2:?}; shift ;;
        --kernel) kernel=${2:?}; shift ;;
        --enable) enabled+=("${2:?}"); shift ;;
        -*) usage ;;
        *) [ -z "$out" ] || usage; out=$1 ;;
    esac
    shift
done
[ -n "$out" ] || usage
mkdir -p "$out"
out=$(cd "$out" && pwd)

${CC:-gcc} -O2 -Wall -Wextra -o "$out/stream" "$here/guest/stream.c"
${CC:-gcc} -O2 -Wall -Wextra -shared -fPIC -o "$out/entropy.so" "$here/guest/entropy.c"

if [ -n "$kernel" ]; then
    [ "$kernel" -ef "$out/linux-uml" ] || cp "$kernel" "$out/linux-uml"
    exit 0
fi

if [ -z "$source" ]; then
    source=/usr/src/linux-source-6.12.tar.xz
    [ -e "$source" ] || apt-get install -y -qq linux-source-6.12 >/dev/null
fi
if [ -d "$source" ]; then
    tree=$source
else
    tree=$out/source
    mkdir -p "$tree"
    [ -e "$tree/Makefile" ] || tar -xf "$source" -C "$tree" --strip-components=1
fi

cd "$tree"
# A server's timer granularity; User-Mode Linux has 100 Hz.
sed -i '/^config HZ$/,/default/ s/default 100$/default 1000/' arch/um/Kconfig
# The register state of a processor with AMX; 6.12 has room for AVX-512 only.
sed -i '/HOST_FP_SIZE/s/2696/11008/' arch/x86/um/user-offsets.c
make -s ARCH=um defconfig
wanted=(
    UML_TIME_TRAVEL_SUPPORT HIGH_RES_TIMERS          # virtual time
    HOSTFS TMPFS DEVTMPFS NAMESPACES UTS_NS NET_NS   # the guest's surroundings
    MPTCP MPTCP_IPV6 INET_MPTCP_DIAG INET_DIAG IPV6 TCP_CONG_ADVANCED TCP_CONG_CUBIC
    VETH NET_SCHED NET_SCH_TBF NET_SCH_NETEM IP_ADVANCED_ROUTER IP_MULTIPLE_TABLES PACKET
    "${enabled[@]}"
)
options=()
for name in "${wanted[@]}"; do options+=(-e "$name"); done
# A thread's stack holds that register state.
./scripts/config "${options[@]}" --set-val KERNEL_STACK_ORDER 3 -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT \
    -e DEBUG_INFO_NONE -d MODULES
make -s ARCH=um olddefconfig
for name in "${wanted[@]}"; do
    grep -q "^CONFIG_$name=y" .config || echo "warning: CONFIG_$name is not set in this kernel" >&2
done
make -s ARCH=um -j"$(nproc)" linux >"$out/build.log" 2>&1 || { tail -20 "$out/build.log" >&2; exit 1; }
strip -o "$out/linux-uml" linux
