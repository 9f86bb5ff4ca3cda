#pragma once
// Interface of the fuzz targets. A target reads input that users or damaged disks may have spoiled.
// It may refuse the input with an error that says why; a crash, a hang, unlimited memory or another
// kind of exception is a defect. Under Clang libFuzzer drives the targets, otherwise drive.cpp.

#include <string>

namespace dbench::fuzz {

/// Reads `input`; throws UserError or RunError to refuse it. Each target defines this function.
void read(const std::string& input);

/// Words that mutations insert, ending with null. Each target defines them.
extern const char* const kWords[];

/// Writes `content` to a file of this process, in memory if the system can; returns its path.
std::string in_file(const std::string& content, const std::string& name);
/// Returns the folder of these files, which is removed at the end.
const std::string& folder();

/// Calls `read`; aborts the process if it throws an error that is not helpful to a user.
void read_or_refuse(const std::string& input);

}  // namespace dbench::fuzz
