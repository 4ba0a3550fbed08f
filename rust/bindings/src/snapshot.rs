//! A snapshot of a Python value: its dicts and lists copied, everything else in it the same objects.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Copy the dicts and lists of a value, `depth` levels of them; everything else is in the copy as it is.
#[pyfunction]
#[pyo3(name = "snapshot", signature = (value, depth, /))]
pub(crate) fn py_snapshot<'py>(value: &Bound<'py, PyAny>, depth: u32) -> PyResult<Bound<'py, PyAny>> {
    let Some(below) = depth.checked_sub(1) else { return Ok(value.clone()) };
    if let Ok(dict) = value.cast::<PyDict>() {
        let copy = dict.copy()?;
        for (key, each) in dict {
            if is_container(&each) {
                copy.set_item(key, py_snapshot(&each, below)?)?;
            }
        }
        return Ok(copy.into_any());
    }
    if let Ok(list) = value.cast::<PyList>() {
        let copies = list.iter().map(|each| py_snapshot(&each, below)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(value.py(), copies)?.into_any());
    }
    Ok(value.clone())
}

fn is_container(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>() || value.is_instance_of::<PyList>()
}
