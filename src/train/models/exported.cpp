// The model `exported`: a user's own PyTorch model, from a file that dbench-export wrote.

#include "train/models/exported/exported_model.hpp"

#include "base/json.hpp"
#include "base/path_text.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/names.hpp"

namespace dbench::train {
namespace {

struct ExportedSpec {
    std::string path;
    MemoryFormat format;

    static const base::Section<ExportedSpec>& section();
};

const base::Section<ExportedSpec>& ExportedSpec::section() {
    static const base::Section<ExportedSpec> keys{
        {base::Parameter::text("path", "",
                               "the file that dbench-export wrote, relative to the spec"),
         &ExportedSpec::path},
        {base::Words<MemoryFormat>("memory_format",
                                   {{"auto", MemoryFormat::automatic},
                                    {"contiguous", MemoryFormat::contiguous},
                                    {"channels_last", MemoryFormat::channels_last}},
                                   MemoryFormat::automatic,
                                   "the memory order of images; contiguous gives PyTorch's bits"),
         &ExportedSpec::format},
    };
    return keys;
}

ModelPtr make_exported(const ExportedSpec& spec, const ModelContext& context) {
    base::check_path_text(spec.path, "/model/path");
    return make_exported_model(
        spec.path, context.file ? *context.file : base::read_text(spec.path, kMostModelBytes),
        spec.format, context);
}

}  // namespace

ModelEntry exported_model() {
    return {"exported", "your own PyTorch model, from a file that dbench-export wrote",
            make_exported};
}

}  // namespace dbench::train
