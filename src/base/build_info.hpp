#pragma once
// Version, commit and compiler of this program, for `dbench --version` and for result files.

namespace dbench::base {

/// Describes the build of this program. Every build updates the commit.
struct BuildInfo {
    const char* version;
    const char* commit;  ///< Twelve hexadecimal digits, or "unknown" outside of a git tree.
    bool dirty;          ///< True if tracked files differed from the commit.
    const char* compiler;
    const char* flags;
    const char* build_type;
    bool cuda;
};

const BuildInfo& build_info();

}  // namespace dbench::base
