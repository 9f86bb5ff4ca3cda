#pragma once
// A fuzz target: a reader of something that users or disks may have spoiled. It may refuse its
// input with an error that says why; anything else (a crash, a hang, memory without end, another
// kind of exception) is a defect. Under Clang libFuzzer drives the targets, else drive.cpp.

#include <string>

namespace dbench::fuzz {

/// Reads `input`, and throws UserError or RunError where it refuses it. Each target defines it.
void read(const std::string& input);

/// What the input may be made of, for mutations; each target defines it.
extern const char* const kWords[];  // the last is null

/// A file of this process with that content, in memory where the system can; its path.
std::string in_file(const std::string& content, const std::string& name);
/// The folder that such files are in; removed at the end.
const std::string& folder();

/// Calls `read`, and ends the process where an error is none that a user can do something with.
void read_or_refuse(const std::string& input);

}  // namespace dbench::fuzz
