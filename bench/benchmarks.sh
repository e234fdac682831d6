# Read by bench/jmh and bench/side-by-side, which set root: builds the jar of metaroce-bench.
# Sets java and benchmarks_jar.

java=$("$root/metaroce" --find-jdk)/bin/java || exit 3
benchmarks_jar=$root/metaroce-bench/target/quick/benchmarks.jar

build_benchmarks() {
    mkdir -p "$root/target"
    (cd "$root" && mvn -q -B -DskipTests -Dquick -Pbench package -pl metaroce-bench -am) \
        > "$root/target/benchmarks.log" 2>&1 </dev/null || {
        cat "$root/target/benchmarks.log" >&2
        echo "$0: the benchmarks cannot be built; Maven's output is above" >&2
        exit 3
    }
}
