//! The build compiles the counters of heap and stack: `c/heap.c`, `c/stack.c`.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new().files(["c/heap.c", "c/stack.c"]).opt_level(2).compile("terse_bench_probes");
}
