# What a component sees of ESP-IDF's build: one function that takes sources and include directories.
function(idf_component_register)
  cmake_parse_arguments(C "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  add_library(component STATIC ${C_SRCS})
  target_include_directories(component PUBLIC ${C_INCLUDE_DIRS})
  target_compile_options(component PRIVATE -march=x86-64-v3)
  set(COMPONENT_LIB component PARENT_SCOPE)
endfunction()
