//! The build compiles the counters of heap, stack and the time of processes: `c/heap.c`, `c/stack.c`, `c/children.c`.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new().files(["c/children.c", "c/heap.c", "c/stack.c"]).opt_level(2).compile("terse_bench_probes");
}
