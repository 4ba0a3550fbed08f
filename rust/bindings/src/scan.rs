//! The scan of session logs: files in, tables out, with callbacks and Ctrl-C in between.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString};
use toolprune_core::marker::CutForm;
use toolprune_core::scan::{LONGEST_CUT, Observer, Options, Row, Rows, Summary, Tally, scan};

use crate::table;

/// What a scan found.
#[pyclass(name = "Scan", module = "toolprune._core", frozen)]
pub(crate) struct PyScan {
    files: Vec<PathBuf>,
    summary: Summary,
}

#[pymethods]
impl PyScan {
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = &self.summary.totals;
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "files"), totals.files)?;
        dict.set_item(intern!(py, "bytes"), totals.bytes)?;
        dict.set_item(intern!(py, "lines"), totals.lines)?;
        dict.set_item(intern!(py, "malformed_lines"), totals.malformed_lines)?;
        dict.set_item(intern!(py, "tool_results"), totals.results.results)?;
        dict.set_item(intern!(py, "code_points"), totals.results.code_points)?;
        dict.set_item(intern!(py, "over_threshold"), totals.results.over_threshold)?;
        dict.set_item(intern!(py, "already_cut"), totals.results.already_cut)?;
        dict.set_item(intern!(py, "ui_copy_bytes"), totals.ui_copy_bytes)?;
        dict.set_item(intern!(py, "forgotten_calls"), totals.forgotten_calls)?;
        Ok(dict)
    }

    #[getter]
    fn by_tool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.summary.by_tool.iter().map(|(tool, tally)| tool_row(py, tool.as_deref(), tally));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn malformed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for malformed in &self.summary.malformed {
            let row = PyDict::new(py);
            row.set_item(intern!(py, "path"), path_string(py, &self.files[malformed.file])?)?;
            row.set_item(intern!(py, "line"), malformed.line)?;
            row.set_item(intern!(py, "offset"), malformed.offset)?;
            row.set_item(intern!(py, "reason"), malformed.reason.to_string())?;
            list.append(row)?;
        }
        Ok(list)
    }

    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for skipped in &self.summary.skipped {
            let row = PyDict::new(py);
            row.set_item(intern!(py, "path"), path_string(py, &self.files[skipped.file])?)?;
            row.set_item(intern!(py, "reason"), &skipped.reason)?;
            list.append(row)?;
        }
        Ok(list)
    }

    #[getter]
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        result_rows(py, &self.files, &self.summary.rows)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        // A wish that the protocol lets a producer leave unmet.
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        table::stream(py, &self.files, &self.summary.rows)
    }
}

/// Scan these files.
#[pyfunction]
#[pyo3(
    name = "scan",
    signature = (files, *, threshold, head, tail, marker, largest, all_results, unique, strict, threads, progress=None, on_results=None)
)]
#[allow(clippy::fn_params_excessive_bools, clippy::too_many_arguments)] // the Python signature, keyword by keyword
pub(crate) fn py_scan(
    py: Python<'_>,
    files: Vec<PathBuf>,
    threshold: u64,
    head: u64,
    tail: u64,
    marker: String,
    largest: usize,
    all_results: bool,
    unique: bool,
    strict: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
    on_results: Option<Py<PyAny>>,
) -> PyResult<PyScan> {
    let form = CutForm::new(head, tail, marker);
    if form.kept() > LONGEST_CUT {
        return Err(PyValueError::new_err(format!(
            "head + marker + tail is {}, and a scan tells cut results of at most {LONGEST_CUT} code points: give smaller ones",
            form.kept()
        )));
    }
    let options = Options {
        threshold,
        form,
        rows: if all_results { Rows::All } else { Rows::Largest(largest) },
        unique,
        strict,
        stream: on_results.is_some(),
        threads,
    };
    let mut callbacks = Callbacks { files: &files, progress, on_results, raised: None };
    let scanned = py.detach(|| scan(&files, &options, &mut callbacks));
    match (scanned, callbacks.raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(summary), None) => Ok(PyScan { files, summary }),
        (Err(interrupted), None) => Err(PyRuntimeError::new_err(interrupted.to_string())),
    }
}

/// Hands on to Python how a scan goes, and stops it when a callback raises or a signal came.
struct Callbacks<'a> {
    files: &'a [PathBuf],
    progress: Option<Py<PyAny>>,
    on_results: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Callbacks<'_> {
    fn attached(&mut self, call: impl FnOnce(Python<'_>, &Self) -> PyResult<()>) -> ControlFlow<()> {
        match Python::attach(|py| py.check_signals().and_then(|()| call(py, self))) {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

impl Observer for Callbacks<'_> {
    fn progress(&mut self, bytes: u64) -> ControlFlow<()> {
        self.attached(|py, this| match &this.progress {
            Some(progress) => progress.call1(py, (bytes,)).map(drop),
            None => Ok(()),
        })
    }

    fn rows(&mut self, rows: Vec<Row>) -> ControlFlow<()> {
        self.attached(|py, this| match &this.on_results {
            Some(on_results) => on_results.call1(py, (result_rows(py, this.files, &rows)?,)).map(drop),
            None => Ok(()),
        })
    }
}

fn tool_row<'py>(py: Python<'py>, tool: Option<&[u8]>, tally: &Tally) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item(intern!(py, "tool"), string(py, tool)?)?;
    row.set_item(intern!(py, "results"), tally.results)?;
    row.set_item(intern!(py, "code_points"), tally.code_points)?;
    row.set_item(intern!(py, "over_threshold"), tally.over_threshold)?;
    Ok(row)
}

fn result_rows<'py>(py: Python<'py>, files: &[PathBuf], rows: &[Row]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in rows {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "path"), path_string(py, &files[row.file])?)?;
        dict.set_item(intern!(py, "format"), row.format.name())?;
        dict.set_item(intern!(py, "session"), string(py, row.session.as_deref())?)?;
        dict.set_item(intern!(py, "line"), row.line)?;
        dict.set_item(intern!(py, "offset"), row.offset)?;
        dict.set_item(intern!(py, "seq"), row.seq)?;
        dict.set_item(intern!(py, "turn"), row.turn)?;
        dict.set_item(intern!(py, "step"), row.step)?;
        dict.set_item(intern!(py, "tool"), string(py, row.tool.as_deref())?)?;
        dict.set_item(intern!(py, "call_id"), string(py, row.call_id.as_deref())?)?;
        dict.set_item(intern!(py, "is_error"), row.is_error)?;
        dict.set_item(intern!(py, "code_points"), row.code_points)?;
        dict.set_item(intern!(py, "tokens"), row.tokens)?;
        dict.set_item(intern!(py, "already_cut"), row.already_cut)?;
        dict.set_item(intern!(py, "sidechain"), row.sidechain)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// A path as `os.fsdecode` gives it.
fn path_string<'py>(py: Python<'py>, path: &std::path::Path) -> PyResult<Bound<'py, PyString>> {
    Ok(path.as_os_str().into_pyobject(py)?)
}

/// A string from WTF-8: lone surrogates come back as such.
fn string<'py>(py: Python<'py>, wtf8: Option<&[u8]>) -> PyResult<Option<Bound<'py, PyString>>> {
    wtf8.map(|wtf8| match std::str::from_utf8(wtf8) {
        Ok(utf8) => Ok(PyString::new(py, utf8)),
        Err(_) => PyBytes::new(py, wtf8)
            .call_method1(intern!(py, "decode"), (intern!(py, "utf-8"), intern!(py, "surrogatepass")))?
            .cast_into::<PyString>()
            .map_err(PyErr::from),
    })
    .transpose()
}
