//! Collects named columns into a record batch.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// The columns of a table so far.
#[derive(Default)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// Adds a column in which every row has a value.
    pub(crate) fn with(self, name: &str, values: impl Array + 'static) -> Self {
        self.column(name, Arc::new(values), false)
    }

    /// Adds a column in which rows may have no value.
    pub(crate) fn with_some(self, name: &str, values: impl Array + 'static) -> Self {
        self.column(name, Arc::new(values), true)
    }

    fn column(mut self, name: &str, values: ArrayRef, nullable: bool) -> Self {
        self.fields.push(Field::new(name, values.data_type().clone(), nullable));
        self.arrays.push(values);
        self
    }

    /// Returns the table. All columns must have the same length.
    pub(crate) fn batch(self) -> RecordBatch {
        let schema: SchemaRef = Arc::new(Schema::new(self.fields));
        RecordBatch::try_new(schema, self.arrays).expect("columns are made from one list of rows")
    }
}
