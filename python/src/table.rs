//! Tables that any library takes over without a copy, by Arrow's interface for Python.

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder, UInt64Builder,
};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, cast::AsArray};
use arrow_schema::{ArrowError, DataType};
use pathweave_lab::scenario::did_you_mean;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::sync::Arc;

/// A table of columns.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// A column under way.
pub(crate) enum Column {
    /// Text that differs in most rows.
    Text(Vec<Option<String>>),
    /// Text with few different values, such as names; stored as a dictionary.
    Word(Vec<Option<String>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Whole numbers from zero. Other libraries get them signed, so that a difference of two can be negative.
    Whole(Vec<Option<u64>>),
    /// Seeds, which go up to 2^64 - 1.
    Seed(Vec<Option<u64>>),
    /// Whole numbers.
    Signed(Vec<Option<i64>>),
    /// Truth values.
    Truth(Vec<Option<bool>>),
    /// A list of numbers in each row.
    Numbers(Vec<Vec<f64>>),
}

impl Column {
    fn finish(self) -> ArrayRef {
        fn built<T>(items: Vec<T>, mut add: impl FnMut(T)) {
            items.into_iter().for_each(&mut add);
        }
        match self {
            Column::Text(items) => {
                let mut builder = StringBuilder::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Word(items) => {
                let mut builder = StringDictionaryBuilder::<Int32Type>::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Number(items) => {
                let mut builder = Float64Builder::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Whole(items) => {
                let mut builder = Int64Builder::new();
                // No count comes near the largest number.
                built(items, |x| builder.append_option(x.map(|x| i64::try_from(x).unwrap_or(i64::MAX))));
                Arc::new(builder.finish())
            }
            Column::Seed(items) => {
                let mut builder = UInt64Builder::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Signed(items) => {
                let mut builder = Int64Builder::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Truth(items) => {
                let mut builder = BooleanBuilder::new();
                built(items, |x| builder.append_option(x));
                Arc::new(builder.finish())
            }
            Column::Numbers(items) => {
                let mut builder = ListBuilder::new(Float64Builder::new());
                built(items, |list| {
                    builder.values().append_slice(&list);
                    builder.append(true);
                });
                Arc::new(builder.finish())
            }
        }
    }
}

impl Table {
    /// From columns of equal length.
    pub(crate) fn new(columns: Vec<(String, Column)>) -> PyResult<Self> {
        let columns = columns.into_iter().map(|(name, column)| (name, column.finish(), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| wrong(&e))?;
        Ok(Table { batch })
    }
}

fn wrong(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// Arrow's stream (https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html). The types are as they are: a
    /// request for others is not followed, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The columns' names.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column_by_name(name).ok_or_else(|| {
            let columns = self.columns();
            let there_are = format!("there are: {}", columns.join(", "));
            let hint = did_you_mean(name, columns.iter().map(String::as_str), &there_are);
            pyo3::exceptions::PyKeyError::new_err(format!("{name}; {hint}"))
        })?;
        PyList::new(py, (0..array.len()).map(|row| value(py, array, row)).collect::<PyResult<Vec<_>>>()?)
    }

    /// Each row as a dictionary.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let names = self.columns();
        let row = |row: usize| {
            let dictionary = PyDict::new(py);
            for (name, array) in names.iter().zip(self.batch.columns()) {
                dictionary.set_item(name, value(py, array, row)?)?;
            }
            Ok(dictionary)
        };
        (0..self.batch.num_rows()).map(row).collect()
    }
}

/// A cell.
fn value<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::Dictionary(..) => {
            let words = array.as_dictionary::<Int32Type>();
            let key = words.keys().value(row) as usize;
            words.values().as_string::<i32>().value(key).into_pyobject(py)?.into_any()
        }
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            list.as_primitive::<Float64Type>().values().to_vec().into_pyobject(py)?
        }
        _ => array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
    })
}
