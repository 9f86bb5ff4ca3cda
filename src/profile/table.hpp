#pragma once
// A group of columns that grow together, row by row. Internal to this module.

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "profile/column.hpp"

namespace dbench::profile {

class Table {
public:
    Table() = default;
    Table(hid_t group, const std::vector<ColumnSpec>& specs, const Axes& axes,
          arena::DType precision, const Chunking& chunking) {
        for (const ColumnSpec& spec : specs)
            columns_.emplace_back(group, spec, axes, precision, chunking);
    }

    /// Returns the column of that name, which must exist.
    Column& operator[](std::string_view name) {
        Column* column = find(name);
        DBENCH_EXPECT(column != nullptr);
        return *column;
    }
    Column* find(std::string_view name) {
        for (Column& column : columns_) {
            if (column.name() == name) return &column;
        }
        return nullptr;
    }
    bool empty() const { return columns_.empty(); }
    int64_t rows() const { return columns_.empty() ? 0 : columns_.back().rows(); }

    std::vector<Column>& columns() { return columns_; }
    void close() { columns_.clear(); }

private:
    std::vector<Column> columns_;
};

}  // namespace dbench::profile
