//! Results as an Arrow table, handed over without a copy (the Arrow `PyCapsule` interface).

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use toolprune_core::scan::Row;
use toolprune_core::text;

/// Rows in one batch: the ids and names of as many, 4 KiB each at most, fit into Arrow's 32-bit offsets.
const BATCH: usize = 16 * 1024;

/// A capsule that holds the rows as a stream of batches.
pub(crate) fn stream<'py>(py: Python<'py>, files: &[PathBuf], rows: &[Row]) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = Arc::new(schema());
    let batches = rows.chunks(BATCH).map(|rows| batch(&schema, files, rows)).collect::<Result<Vec<_>, _>>();
    let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

fn schema() -> Schema {
    let field = |name, kind, nullable| Field::new(name, kind, nullable);
    Schema::new(vec![
        field("path", DataType::Utf8, false),
        field("format", DataType::Utf8, false),
        field("session", DataType::Utf8, true),
        field("line", DataType::Int64, false),
        field("offset", DataType::Int64, false),
        field("seq", DataType::Int64, true),
        field("turn", DataType::Int64, true),
        field("step", DataType::Int64, true),
        field("tool", DataType::Utf8, true),
        field("call_id", DataType::Utf8, true),
        field("is_error", DataType::Boolean, false),
        field("code_points", DataType::Int64, false),
        field("tokens", DataType::Int64, false),
        field("already_cut", DataType::Boolean, false),
        field("sidechain", DataType::Boolean, true),
    ])
}

fn batch(schema: &Arc<Schema>, files: &[PathBuf], rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let utf8 = |wtf8| text::with_surrogates_as(wtf8, char::REPLACEMENT_CHARACTER);
    let text = |of: fn(&Row) -> Option<&[u8]>| -> ArrayRef {
        let texts = rows.iter().map(|row| of(row).map(utf8));
        Arc::new(texts.collect::<StringArray>())
    };
    let number = |of: fn(&Row) -> Option<i64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let flag = |of: fn(&Row) -> Option<bool>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<BooleanArray>()) };
    let paths = rows.iter().map(|row| Some(files[row.file].to_string_lossy()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(paths.collect::<StringArray>()),
        text(|row| Some(row.format.name().as_bytes())),
        text(|row| row.session.as_deref()),
        number(|row| Some(row.line.cast_signed())),
        number(|row| Some(row.offset.cast_signed())),
        number(|row| row.seq),
        number(|row| row.turn),
        number(|row| row.step),
        text(|row| row.tool.as_deref()),
        text(|row| row.call_id.as_deref()),
        flag(|row| Some(row.is_error)),
        number(|row| Some(row.code_points.cast_signed())),
        number(|row| Some(row.tokens.cast_signed())),
        flag(|row| Some(row.already_cut)),
        flag(|row| row.sidechain),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns)
}
