// Actions for a frame of a call stack, in all views: open its source, copy it, filter by it.
#pragma once

#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"

class QMenu;

namespace memprof::viewer {

struct FrameTarget {
  analysis::SourceFrame frame;
  analysis::StackId stack;  // of the frame, or the costliest of several; may be none
};

// Opens the frame's source at its line in the editor of models/editor_command.h. If that fails,
// shows the reason in a non-modal box on `owner` and returns it; else "".
QString OpenInEditor(QWidget* owner, const Document& document, const analysis::SourceFrame& frame);

// Adds the actions for a frame. The document and the selection must outlive the menu.
void AddFrameActions(QMenu* menu, QWidget* owner, Document* document, Selection* selection,
                     const FrameTarget& target);

// "Foo::Bar (file.cc:12)" of one frame.
QString WholeFrame(const analysis::SourceFrame& frame);
// Copies all frames of a stack to the clipboard, one a line, as soon as they have names.
void CopyStack(QObject* owner, const Document& document, analysis::StackId stack);

}  // namespace memprof::viewer
