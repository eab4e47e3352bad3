//! The migrations are compiled into the crate, so that a change of them compiles it again.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
