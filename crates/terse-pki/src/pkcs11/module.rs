//! The modules of this process.
//!
//! A PKCS #11 module has one state for a whole process, and initialising it twice is an error: all keys share it. One call
//! at a time goes to a module: not all of them are safe with several threads.
//!
//! What must always hold: a module that was initialised stays so, until its sessions are lost with whatever is behind it and it
//! is initialised again; the generation tells sessions of before from those of after.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};

use super::problem::Problem;
use super::token::Open;

/// A module that is loaded and initialised.
pub(super) struct Module {
    library: Mutex<Library>,
    /// The sessions of keys that are gone: to close one may take long, and waits until another one is opened.
    abandoned: Mutex<Vec<Open>>,
}

/// The functions of a module.
pub(super) struct Library {
    pub(super) functions: Pkcs11,
    /// How often the module was initialised again.
    pub(super) generation: u64,
}

impl Module {
    /// Returns the module in this file, which is loaded and initialised if that was not done yet.
    pub(super) fn at(path: &Path) -> Result<Arc<Self>, Problem> {
        let file = path.canonicalize().ok().filter(|file| file.is_file());
        let file = file.ok_or_else(|| Problem::NoModule(path.into()))?;
        let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&file) {
            return Ok(module.clone());
        }
        let functions = Pkcs11::new(&file).map_err(|error| Problem::Load(path.into(), error))?;
        initialize(&functions)?;
        let module =
            Arc::new(Self { library: Mutex::new(Library { functions, generation: 0 }), abandoned: Mutex::default() });
        modules.insert(file, module.clone());
        Ok(module)
    }

    /// Waits for its turn to use the module.
    pub(super) fn lock(&self) -> MutexGuard<'_, Library> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session of a key that is gone. This waits for nobody.
    pub(super) fn abandon(&self, open: Open) {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Closes the sessions of keys that are gone.
    pub(super) fn close_abandoned(&self, library: &Library) {
        let abandoned = core::mem::take(&mut *self.abandoned.lock().unwrap_or_else(PoisonError::into_inner));
        abandoned.into_iter().for_each(|open| open.close(library));
    }
}

impl Library {
    /// Initialises the module again: some, as `p11-kit-client.so`, find what is behind them in no other way when that was
    /// away. All sessions end.
    pub(super) fn restart(&mut self) -> Result<(), Problem> {
        self.generation = self.generation.wrapping_add(1);
        let _ = self.functions.clone().finalize(); // one that has lost its state need not be told
        initialize(&self.functions)
    }
}

fn initialize(functions: &Pkcs11) -> Result<(), Problem> {
    match functions.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The modules, by their files.
static MODULES: Mutex<BTreeMap<PathBuf, Arc<Module>>> = Mutex::new(BTreeMap::new());
