// SPDX-License-Identifier: Apache-2.0
/* A CSV file in memory (RFC 4180; line ends may be \n). Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Cells of a file, the header's included. */
#define CSV_MAX_CELLS   ((size_t)2000000)
#define CSV_MAX_COLUMNS ((size_t)1000)

struct csv_table {
    char *bytes; /**< the cells are in it; owned */
    char **cells;
    size_t columns;
    size_t rows; /**< without the header */
};

/**
 * Read a file. Its first line has the names of the columns; a row that is too short is filled with
 * empty cells, of one that is too long the rest is dropped.
 * @param bytes     copied
 * @param delimiter between cells
 * @param ret_table csv_table_fini(), also on failure
 * @return NULL, or what is wrong with the file. Static
 */
const char *csv_table_read(const char *bytes, size_t len, char delimiter,
                           struct csv_table *ret_table);
void csv_table_fini(struct csv_table *table);

/** Name of a column. */
const char *csv_name(const struct csv_table *table, size_t column);
/** A cell; rows and columns from 0. */
const char *csv_cell(const struct csv_table *table, size_t row, size_t column);
/** @return its number, or `columns` when there is none of that name */
size_t csv_find(const struct csv_table *table, const char *name, size_t len);
/** Whether a cell is a number, blanks around it aside. */
bool csv_number(const char *cell, double *ret_number);
