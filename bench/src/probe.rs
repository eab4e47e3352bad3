//! A probe watches the calls of a side: not at all, their heap, their stack, or through callgrind.
//!
//! `unsafe` is needed because malloc for a whole process, a look at one's own stack and the time of other processes are C's
//! (`c/heap.c`, `c/stack.c`, `c/children.c`), and calls go there and back through pointers.
//!
//! What must always hold: a probe runs the call exactly once.
#![allow(unsafe_code)]

use core::ffi::c_void;

use crate::stack::Side;

/// A probe through which all calls of a connection's sides are made.
pub trait Probe {
    /// Runs `call`, which is of `side`.
    fn call(&mut self, side: Side, call: &mut dyn FnMut());
}

/// A probe that measures nothing.
#[derive(Debug)]
pub struct Unwatched;

impl Probe for Unwatched {
    fn call(&mut self, _: Side, call: &mut dyn FnMut()) {
        call();
    }
}

/// A probe that counts the heap of each side on this thread.
#[derive(Debug)]
pub struct HeapProbe([(i64, i64); 2]);

/// The bytes of heap that were requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The bytes in use now.
    pub in_use: i64,
    /// The most bytes in use at once.
    pub peak: i64,
    /// The bytes of all requests, those that were freed again included. `realloc` requests what it adds.
    pub total: i64,
}

impl HeapProbe {
    /// Creates a probe that does not count the heap in use now.
    pub fn new() -> Self {
        // SAFETY: the arguments are below the number of sides.
        let start = |side| unsafe { (terse_bench_heap_start(side as u32), terse_bench_heap_total(side as u32)) };
        Self([Side::Client, Side::Server].map(start))
    }

    /// Returns the heap of `side`.
    pub fn heap(&self, side: Side) -> Heap {
        let (in_use_before, total_before) = self.0[side as usize - 1];
        // SAFETY: the arguments are below the number of sides.
        let (in_use, peak) = unsafe { (terse_bench_heap_in_use(side as u32), terse_bench_heap_peak(side as u32)) };
        // SAFETY: as above.
        let total = unsafe { terse_bench_heap_total(side as u32) };
        Heap { in_use: in_use - in_use_before, peak: peak - in_use_before, total: total - total_before }
    }
}

impl Default for HeapProbe {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe for HeapProbe {
    fn call(&mut self, side: Side, call: &mut dyn FnMut()) {
        // SAFETY: the argument is a number, which is stored per thread.
        let before = unsafe { terse_bench_heap_side(side as u32) };
        call();
        // SAFETY: the argument is a number, which is stored per thread.
        unsafe { terse_bench_heap_side(before) };
    }
}

/// A probe that measures the deepest stack of each side's calls.
#[derive(Debug, Default)]
pub struct StackProbe([usize; 2]);

impl StackProbe {
    /// Returns the deepest stack of the calls of `side`, in bytes.
    pub fn deepest(&self, side: Side) -> usize {
        self.0[side as usize - 1]
    }
}

impl Probe for StackProbe {
    fn call(&mut self, side: Side, mut call: &mut dyn FnMut()) {
        // SAFETY: `run` gets back the pointer that is given here, and within this call.
        let depth = unsafe { terse_bench_stack_of(run, (&raw mut call).cast()) };
        let deepest = &mut self.0[side as usize - 1];
        *deepest = depth.max(*deepest);
    }
}

/// A probe that makes the calls of one side through [`COUNTED_CALL`], a function that callgrind can count.
#[derive(Debug)]
pub struct CountedProbe(pub Side);

/// The name of the function that callgrind counts.
pub const COUNTED_CALL: &str = "terse_bench_counted_call";

impl Probe for CountedProbe {
    fn call(&mut self, side: Side, mut call: &mut dyn FnMut()) {
        if side == self.0 {
            // SAFETY: `run` gets back the pointer that is given here, and within this call.
            unsafe { terse_bench_counted_call(run, (&raw mut call).cast()) };
        } else {
            call();
        }
    }
}

/// Calls something through [`COUNTED_CALL`].
pub fn counted(mut call: impl FnMut()) {
    CountedProbe(Side::Client).call(Side::Client, &mut call);
}

/// Returns the CPU seconds of all processes that this one has started and waited for.
pub(crate) fn children_seconds() -> f64 {
    // SAFETY: the function only asks the system.
    unsafe { terse_bench_children_seconds() }
}

/// Runs the closure that `call` points to, a `&mut dyn FnMut()`.
extern "C" fn run(call: *mut c_void) {
    // SAFETY: only the probes above hand this function out, each with such a pointer, alive while they wait.
    let call = unsafe { &mut *call.cast::<&mut dyn FnMut()>() };
    call();
}

unsafe extern "C" {
    fn terse_bench_children_seconds() -> f64;
    fn terse_bench_heap_side(side: u32) -> u32;
    fn terse_bench_heap_start(side: u32) -> i64;
    fn terse_bench_heap_in_use(side: u32) -> i64;
    fn terse_bench_heap_peak(side: u32) -> i64;
    fn terse_bench_heap_total(side: u32) -> i64;
    fn terse_bench_stack_of(call: extern "C" fn(*mut c_void), argument: *mut c_void) -> usize;
    fn terse_bench_counted_call(call: extern "C" fn(*mut c_void), argument: *mut c_void);
}

#[cfg(test)]
mod tests;
