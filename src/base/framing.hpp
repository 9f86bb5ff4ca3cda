#pragma once
// Several texts in one: each behind its length.

#include <string>
#include <vector>

namespace dbench::base {

/// The texts one after the other, each behind its length in 8 bytes (of this machine's order).
std::string join_texts(const std::vector<std::string>& texts);

/// The texts that `join_texts` has joined. Throws RunError where the bytes end early.
std::vector<std::string> split_texts(const std::string& bytes);

}  // namespace dbench::base
