//! The cut of Python strings and content blocks, and the count of UTF-8 bytes.
//!
//! Strings are measured, sliced and compared by the stable C-API's own code-point calls, in the form in which the
//! interpreter holds them: nothing is encoded, and a lone surrogate is a code point like any other.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyInt, PyList, PyMemoryView, PySequence, PyString};
use toolprune_core::boundary::Boundary;
use toolprune_core::cut::{Budget, BudgetError, Piece, Plan};
use toolprune_core::text;

/// Bytes from which other threads run while these are worked on: below, the switch costs more than the work.
const DETACH_FROM: usize = 64 * 1024;

/// Texts before and behind the number of code points that a cut takes away.
type Numbered<'py> = (Bound<'py, PyString>, Bound<'py, PyString>);

/// A cut whose limits are checked once, for any number of texts.
#[pyclass(name = "Cut", module = "toolprune._core", frozen)]
pub(crate) struct PyCut {
    budget: Budget,
    marker: Py<PyString>,
    boundary: Option<Boundary>,
}

#[pymethods]
impl PyCut {
    #[new]
    #[pyo3(signature = (*, threshold, head, tail, marker, boundary))]
    fn new(
        threshold: &Bound<'_, PyAny>,
        head: &Bound<'_, PyAny>,
        tail: &Bound<'_, PyAny>,
        marker: Bound<'_, PyString>,
        boundary: &str,
    ) -> PyResult<Self> {
        let (threshold, head, tail) = (limit("threshold", threshold)?, limit("head", head)?, limit("tail", tail)?);
        let budget = Budget::new(threshold, head, tail, length(&marker)).map_err(to_value_error)?;
        let boundary = match boundary {
            "code_point" => None,
            "grapheme" => Some(Boundary::Grapheme),
            "line" => Some(Boundary::Line),
            other => {
                let message = format!("boundary must be code_point, grapheme or line, not {other}");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(Self { budget, marker: marker.unbind(), boundary })
    }

    /// Cut a text to head, marker and tail; None when it is within the threshold.
    #[pyo3(signature = (text, /, numbered=None))]
    fn text<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        numbered: Option<Numbered<'py>>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let text = string(text)?;
        let lengths = [length(text)];
        let Some(plan) = self.plan(std::slice::from_ref(text), &lengths)? else { return Ok(None) };
        let marker = self.marker(text.py(), &plan, numbered)?;
        plan.pieces(&lengths).next().map(|piece| cut_string(text, piece, &marker)).transpose()
    }

    /// Cut the text blocks of one result; None when they are within the threshold.
    #[pyo3(signature = (blocks, types, /, numbered=None))]
    fn blocks<'py>(
        &self,
        blocks: &Bound<'py, PyAny>,
        types: &Bound<'py, PyFrozenSet>,
        numbered: Option<Numbered<'py>>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let blocks = block_list(blocks)?;
        let of_blocks = blocks.iter().map(|block| text_of(&block, types)).collect::<PyResult<Vec<_>>>()?;
        let texts: Vec<_> = of_blocks.iter().flatten().cloned().collect();
        let lengths: Vec<u64> = texts.iter().map(length).collect();
        let Some(plan) = self.plan(&texts, &lengths)? else { return Ok(None) };
        let marker = self.marker(blocks.py(), &plan, numbered)?;

        let cut = PyList::empty(blocks.py());
        let mut pieces = plan.pieces(&lengths);
        for (block, text) in blocks.iter().zip(of_blocks) {
            match text.and_then(|text| Some((text, pieces.next()?))) {
                None => cut.append(block)?,
                Some((text, piece)) => {
                    let kept = cut_string(&text, piece, &marker)?;
                    if length(&kept) > 0 {
                        cut.append(with_text(&block, &kept)?)?;
                    }
                }
            }
        }
        Ok(Some(cut))
    }
}

impl PyCut {
    /// The plan for these texts, its edges on boundaries.
    fn plan(&self, texts: &[Bound<'_, PyString>], lengths: &[u64]) -> PyResult<Option<Plan>> {
        let plan = self.budget.plan(lengths).map_err(to_value_error)?;
        let (Some(plan), Some(boundary), Some(first)) = (plan, self.boundary, texts.first()) else { return Ok(plan) };
        let mut whole = Vec::new();
        for text in texts {
            whole.extend_from_slice(wtf8(text)?.as_bytes());
        }
        Ok(Some(detached(first.py(), whole.len(), || boundary.inward(plan, &whole))))
    }

    /// The marker of a plan: with the number of code points that go, where there are words for it and room.
    fn marker<'py>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        numbered: Option<Numbered<'py>>,
    ) -> PyResult<Bound<'py, PyString>> {
        if let Some((before, behind)) = numbered
            && let Some(number) = self.budget.number(plan, length(&before) + length(&behind))
        {
            return append(append(before, &PyString::new(py, &number))?, &behind);
        }
        Ok(self.marker.bind(py).clone())
    }
}

/// Whether a text is exactly what a cut leaves.
#[pyfunction]
#[pyo3(name = "is_cut", signature = (text, *, head, tail, marker))]
pub(crate) fn py_is_cut(
    text: &Bound<'_, PyAny>,
    head: &Bound<'_, PyAny>,
    tail: &Bound<'_, PyAny>,
    marker: &Bound<'_, PyString>,
) -> PyResult<bool> {
    let text = string(text)?;
    let (head, tail) = (limit("head", head)?, limit("tail", tail)?);
    let kept = u128::from(head) + u128::from(length(marker)) + u128::from(tail);
    Ok(u128::from(length(text)) == kept && holds_at(text, marker, head)?)
}

/// The number of code points in UTF-8 bytes.
#[pyfunction]
#[pyo3(name = "code_points", signature = (data, /))]
pub(crate) fn py_code_points(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<u64> {
    let bytes = immutable_bytes(data)?;
    let utf8 = bytes.as_bytes();
    let count = || std::str::from_utf8(utf8).map(|valid| text::code_points(valid.as_bytes()));
    detached(py, utf8.len(), count).map_err(|error| {
        let at = error.valid_up_to();
        PyValueError::new_err(format!("data is not UTF-8: byte 0x{:02x} at offset {at} cannot stand there", utf8[at]))
    })
}

/// What work on so many bytes gives; other threads run meanwhile when it is long.
fn detached<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes > DETACH_FROM { py.detach(work) } else { work() }
}

/// The bytes of a bytes-like object: `bytes` itself, a copy of anything else, since another thread may write to it
/// while it is counted and the stable ABI of Python 3.10 has no way to hold on to a buffer.
fn immutable_bytes<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let view = PyMemoryView::from(data)
        .map_err(|_| PyTypeError::new_err(format!("data must be bytes-like, not {}", type_name(data))))?;
    Ok(view.call_method0(intern!(data.py(), "tobytes"))?.cast_into()?)
}

/// The blocks as a list of this call's own; a str is a sequence too, but not one of blocks.
fn block_list<'py>(blocks: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    match blocks.cast::<PySequence>() {
        Ok(sequence) if !blocks.is_instance_of::<PyString>() => sequence.to_list(),
        _ => Err(PyTypeError::new_err(format!("blocks must be a list of dicts, not {}", type_name(blocks)))),
    }
}

/// A limit in code points: an int of 64 bits without sign, or an error that names it.
fn limit(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|_| {
        if value.is_instance_of::<PyInt>() {
            PyValueError::new_err(format!("{name} must be from 0 to 2**64 - 1 code points, not {value}"))
        } else {
            PyTypeError::new_err(format!("{name} must be an int, not {}", type_name(value)))
        }
    })
}

fn to_value_error(error: BudgetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "an unnamed type".to_owned(), |name| name.to_string())
}

/// A text that is to be measured or cut.
fn string<'a, 'py>(text: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    text.cast().map_err(|_| PyTypeError::new_err(format!("text must be a str, not {}", type_name(text))))
}

/// The text of a text block: a dict whose `type` is one of `types` and whose `text` is a str.
fn text_of<'py>(block: &Bound<'py, PyAny>, types: &Bound<'py, PyFrozenSet>) -> PyResult<Option<Bound<'py, PyString>>> {
    let py = block.py();
    let Ok(block) = block.cast::<PyDict>() else { return Ok(None) };
    let Some(kind) = block.get_item(intern!(py, "type"))? else { return Ok(None) };
    if !kind.is_instance_of::<PyString>() || !types.contains(kind)? {
        return Ok(None);
    }
    Ok(block.get_item(intern!(py, "text"))?.and_then(|text| text.cast_into().ok()))
}

/// A copy of a text block with another text, its other keys and their order as they were.
fn with_text<'py>(block: &Bound<'py, PyAny>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
    let copy = block.cast::<PyDict>()?.copy()?;
    copy.set_item(intern!(block.py(), "text"), text)?;
    Ok(copy)
}

/// What a piece keeps of a string, the marker in its place.
fn cut_string<'py>(
    text: &Bound<'py, PyString>,
    piece: Piece,
    marker: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyString>> {
    // The tail first: then what lies behind the head in memory is most often free, and the head grows where it stands.
    let tail = substring(text, piece.tail_start, length(text))?;
    let head = substring(text, 0, piece.head_end)?;
    let head = if piece.marker { append(head, marker)? } else { head };
    append(head, &tail)
}

/// The length of a string in code points.
fn length(text: &Bound<'_, PyString>) -> u64 {
    #[expect(unsafe_code, reason = "PyO3 has no call for it: `len` would run a subclass's own `__len__`")]
    // SAFETY: `text` is a live str, for which the call cannot fail.
    let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    length.unsigned_abs() as u64
}

/// A string in WTF-8.
fn wtf8<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
    #[expect(unsafe_code, reason = "PyO3 has no call for it: its own refuse or replace lone surrogates")]
    // SAFETY: `text` is a live str and both names are C strings; the result is a new reference to bytes, or null with
    // an exception set.
    let bytes = unsafe {
        let bytes = ffi::PyUnicode_AsEncodedString(text.as_ptr(), c"utf-8".as_ptr(), c"surrogatepass".as_ptr());
        Bound::from_owned_ptr_or_err(text.py(), bytes)
    };
    Ok(bytes?.cast_into()?)
}

/// The code points `[start, end)` of a string; the string itself when that is all of it.
fn substring<'py>(text: &Bound<'py, PyString>, start: u64, end: u64) -> PyResult<Bound<'py, PyString>> {
    #[expect(unsafe_code, reason = "PyO3 has no call for it: a slice would run a subclass's own `__getitem__`")]
    // SAFETY: `text` is a live str and both bounds are within its length; the result is a new reference, or null with
    // an exception set.
    let part = unsafe {
        let part = ffi::PyUnicode_Substring(text.as_ptr(), offset(start), offset(end));
        Bound::from_owned_ptr_or_err(text.py(), part)
    };
    Ok(part?.cast_into()?)
}

/// One string after the other. A string that nothing else holds is made longer where it stands, as with `+=`.
fn append<'py>(first: Bound<'py, PyString>, second: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let py = first.py();
    let mut whole = first.into_ptr();
    #[expect(unsafe_code, reason = "PyO3 has no call for it: `+` copies both and would run a subclass's `__add__`")]
    // SAFETY: `second` is a live str and `whole` a reference to one that the call consumes; it leaves a new reference
    // in its place, or null with an exception set.
    let whole = unsafe {
        ffi::PyUnicode_Append(&raw mut whole, second.as_ptr());
        Bound::from_owned_ptr_or_err(py, whole)
    };
    Ok(whole?.cast_into()?)
}

/// Whether `part` stands in `text` at this code point.
fn holds_at(text: &Bound<'_, PyString>, part: &Bound<'_, PyString>, at: u64) -> PyResult<bool> {
    const FORWARD: i32 = -1;
    #[expect(unsafe_code, reason = "PyO3 has no call for it: `startswith` could be a subclass's own")]
    // SAFETY: both are live strs and the call bounds the offsets; -1 is a match at the start of the span.
    let found =
        unsafe { ffi::PyUnicode_Tailmatch(text.as_ptr(), part.as_ptr(), offset(at), offset(length(text)), FORWARD) };
    if found < 0 { Err(PyErr::fetch(text.py())) } else { Ok(found == 1) }
}

/// An offset within a string, which is never longer than the C-API's own type of lengths.
fn offset(code_points: u64) -> ffi::Py_ssize_t {
    ffi::Py_ssize_t::try_from(code_points).unwrap_or(ffi::Py_ssize_t::MAX)
}
