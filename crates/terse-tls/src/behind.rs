//! Settings behind a vtable.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// A setting that most firmware leaves out. What makes one names the code that drops it, and nothing else does: a linker finds
/// that code nowhere in an image without the setting.
pub(crate) struct Behind<T>(Arc<dyn Setting<T>>);

trait Setting<T>: Send + Sync {
    fn get(&self) -> &T;
}

impl<T: Send + Sync> Setting<T> for T {
    fn get(&self) -> &T {
        self
    }
}

impl<T: Send + Sync + 'static> Behind<T> {
    pub(crate) fn new(setting: T) -> Self {
        Self(Arc::new(setting))
    }
}

impl<T> Deref for Behind<T> {
    type Target = T;

    fn deref(&self) -> &T {
        Setting::<T>::get(&*self.0)
    }
}

impl<T> Clone for Behind<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Prints that there is one.
impl<T> fmt::Debug for Behind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}
