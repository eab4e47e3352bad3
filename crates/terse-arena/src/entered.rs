//! Which arena is entered: one for all code on bare metal, where interrupts leave what they have entered before they end, and one for
//! each thread on a computer.

#[cfg(target_os = "none")]
pub(super) use bare_metal::{get, replace};
#[cfg(not(target_os = "none"))]
pub(super) use threads::{get, replace};

#[cfg(target_os = "none")]
mod bare_metal {
    use core::cell::Cell;

    use critical_section::Mutex;

    use crate::Arena;

    static ENTERED: Mutex<Cell<Option<&'static Arena>>> = Mutex::new(Cell::new(None));

    pub(crate) fn get() -> Option<&'static Arena> {
        critical_section::with(|token| ENTERED.borrow(token).get())
    }

    pub(crate) fn replace(arena: Option<&'static Arena>) -> Option<&'static Arena> {
        critical_section::with(|token| ENTERED.borrow(token).replace(arena))
    }
}

#[cfg(not(target_os = "none"))]
mod threads {
    use core::cell::Cell;

    use crate::Arena;

    std::thread_local! {
        // It is `const` and has no destructor: using it never allocates.
        static ENTERED: Cell<Option<&'static Arena>> = const { Cell::new(None) };
    }

    pub(crate) fn get() -> Option<&'static Arena> {
        ENTERED.get()
    }

    pub(crate) fn replace(arena: Option<&'static Arena>) -> Option<&'static Arena> {
        ENTERED.replace(arena)
    }
}
