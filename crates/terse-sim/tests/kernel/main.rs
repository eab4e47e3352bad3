//! Our TCP against the kernel's, through a TUN device, in real time.
//!
//! The test runs in a network namespace of its own, so that nothing of the machine changes. That needs root and
//! /dev/net/tun; without them it says so and is skipped, or fails if `TERSE_REQUIRE_ALL=1`.

#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod lost_syn_ack;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod writes;

#[cfg(target_os = "linux")]
fn main() {
    namespace::enter_or_skip();
    let mut link = link::Link::new();
    script::compare(&mut link);
    lost_syn_ack::compare(&mut link);
    writes::compare(&mut link);
    transfer::all(&mut link);
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: only Linux has the kernel that these tests are about");
}
