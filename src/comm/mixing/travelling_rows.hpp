#pragma once  // Private to comm/mixing.
// The rows of this rank in the form in which they travel: the rows x, a copy in host memory, or
// encoded words. The form is chosen beforehand (RowForm in choose_routes.hpp).

#include <cstdint>
#include <memory>
#include <vector>

#include "arena/rows.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {

/// Prepares the rows of one exchange that are sent to neighbours, are read in place or enter means
/// of groups. Groups that are averaged by messages encode their rows themselves.
class TravellingRows {
public:
    /// Reserves memory for staged rows. Keeps a reference to the context.
    explicit TravellingRows(const MixingContext& context);

    /// Copies or encodes the rows if their form demands it, and offers them to the ranks of this
    /// host if rows are read in place.
    void prepare();

    /// Returns the rows in full precision: x or the staged copy.
    arena::Rows rows() const { return rows_; }
    /// Returns the row as it travels, the address of the first of the exchange's columns. Requires
    /// that it is sent to a neighbour.
    char* at(int64_t row) const;
    /// Returns the encoded words per local row, addresses of column 0; null where a row was not
    /// encoded. Empty without a codec.
    std::vector<const uint16_t*> words() const;

    /// Releases scratch memory; see MixingRoute::release.
    void release();

private:
    void copy_rows();
    void encode_rows();

    const MixingContext& context_;
    arena::Rows rows_;
    std::shared_ptr<char> staged_;  // [local rows, columns.count()]: memory of a copy
    std::shared_ptr<char> sent_;    // [rows that are sent, columns.count()]: encoded rows
    /// Per local row: its encoded row, address of column 0; null: not encoded.
    std::vector<char*> words_;
};

}  // namespace dbench::comm
