//! Python bindings of toolprune: conversion, the GIL and errors, no logic.

mod cut;
mod scan;
mod snapshot;
mod table;

/// The compiled half of toolprune.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::cut::{PyCut, py_code_points, py_is_cut};
    #[pymodule_export]
    use crate::scan::{PyScan, py_scan};
    #[pymodule_export]
    use crate::snapshot::py_snapshot;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's own name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
