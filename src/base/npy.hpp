#pragma once
// NumPy's .npy: a header, a Python dictionary with type, order and shape, before the numbers.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace dbench::base {

/// An array where it lies. Its numbers are little-endian, and all are there.
struct NpyArray {
    std::string kind;            ///< without byte order: "f4", "f8", "u1", "i8", "b1", ...
    bool columns_first = false;  ///< Fortran's order
    std::vector<size_t> shape;
    std::string_view data;

    size_t width() const { return static_cast<size_t>(kind[1] - '0'); }  ///< bytes of a number
    size_t count() const;                                                ///< of numbers
    bool real() const { return kind[0] == 'f'; }
    /// How one number is read as a double.
    double (*reader() const)(const char*);
};

/// The array in a file's `content`, which it points into; `path` names it in errors. At most `most`
/// numbers, none of no length. Throws UserError.
NpyArray parse_npy(std::string_view content, const std::string& path, size_t most);

}  // namespace dbench::base
